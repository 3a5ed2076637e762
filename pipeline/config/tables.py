"""The settings for tables of results with columns that a user chooses."""

from __future__ import annotations

from pydantic import Field, field_validator

from pipeline.config.base import Name, Section


class TableSetup(Section):
    """A table ``[[table]]``: columns of any versions, configurations, builds and DBMSs."""

    name: Name = Field(description="name of the table, which verbs and files use")
    title: str = Field(default="", description="heading of the table; by default its name")
    columns: tuple[str, ...] = Field(
        min_length=2,
        description=(
            'the columns as target:version[@build options][+config], for example "mysql:8.4.7", '
            '"mariadb:11.4.5+z12b", "postgres:18.1@rel_o3native"'
        ),
    )
    base: str = Field(
        default="",
        description="the column that the others are divided by; by default the first",
    )
    workloads: tuple[str, ...] = Field(
        default=(),
        description="names of the workloads; by default all that run on the columns' targets",
    )
    groups: tuple[str, ...] = Field(
        default=(), description="groups of steps, in the order of the table; by default all"
    )
    metrics: tuple[str, ...] = Field(
        default=(), description="metrics, a table for each; by default that of the layout"
    )
    layout: str = Field(
        default="",
        description="layout, as `nightshift table --help` lists them; by default that of the "
        "workload family",
    )

    @field_validator("columns")
    @classmethod
    def _each_once(cls, columns: tuple[str, ...]) -> tuple[str, ...]:
        for at, column in enumerate(columns):
            if column in columns[:at]:
                raise ValueError(f"the column {column} is given twice; remove one of them")
        return columns
