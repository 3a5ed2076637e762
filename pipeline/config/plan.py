"""What is measured: lines, workloads, how often, and the short night."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.base import Name, Section, Version
from pipeline.model import OptionValue
from pipeline.units import Duration


class Night(Section):
    """How a night is run."""

    repetitions: int = Field(default=3, ge=1, le=100, description="runs of every cell")


class SourceSection(Section):
    """Revisions of one target: where they are had, and how they become builds."""

    name: Name = Field(description="how tables and issues call it")
    target: str = Field(description="the DBMS, as `nightshift targets` lists them")
    source: str = Field(
        default="",
        description="where its revisions are had; `nightshift targets` lists them, the first is "
        "taken if not set",
    )
    repository: str = Field(
        default="", description="for git and tags: another repository, an address or a folder"
    )
    branch: str = Field(default="", description="for git: another branch")
    major: Version = Field(
        default="",
        description="for git: the release series that the branch is of, whose configuration its "
        "commits get; the newest if not set",
    )
    build: str = Field(
        default="",
        description="name of the build options; official for what is had prebuilt, rel_o2nofp "
        "for source code if not set",
    )


class LineSection(SourceSection):
    """A sequence of revisions of one target."""

    take: Literal["newest-of-each-major", "all"] = Field(
        default="all", description="which of the releases between since and until"
    )
    since: Version = Field(default="", description="first version or major taken")
    until: Version = Field(default="", description="last version or major taken")
    revisions: tuple[str, ...] = Field(
        default=(),
        description="exactly these versions; a copy of one, as 17.11#2, is a control (A/A)",
    )
    bisect: str = Field(
        default="",
        description="for releases: the line of commits, of the same target, on which the culprits "
        "of what changes between them are searched",
    )
    newest: int = Field(
        default=0,
        ge=0,
        description="only the newest N of them are measured, and what was measured before stays "
        "on the line; 0 for all",
    )

    @model_validator(mode="after")
    def _explicit_or_selected(self) -> LineSection:
        if self.revisions and self.model_fields_set & {"take", "since", "until", "newest"}:
            raise ValueError("give either revisions, or take, since, until and newest")
        return self


class WorkloadSection(Section):
    """A workload and the configurations it is run with."""

    name: Name = Field(description="how tables and reports call it")
    family: str = Field(default="sysbench", description="the workload family, as sysbench")
    config: Name = Field(default="x10a", description="name of the DBMS configuration")
    configs: dict[str, Name] = Field(
        default_factory=dict,
        description='another configuration for the lines of a target, as { mariadb = "z12b" }',
        json_schema_extra={"default": {}},
    )
    lines: tuple[str, ...] = Field(default=(), description="lines to run on; empty for all")
    steps: tuple[str, ...] = Field(
        default=("all",), description='step or group names, or "all"', min_length=1
    )
    tables: int = Field(default=1, ge=1, description="number of tables")
    rows: int = Field(default=20_000, ge=1000, description="rows per table")
    clients: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        default=(1,), min_length=1, description="numbers of clients, a cell for each"
    )
    measure: Duration = Field(
        default=1.0, description="measured time of a step", json_schema_extra={"default": "1s"}
    )
    warmup: Duration = Field(
        default=0.25,
        description="time a step runs before it is measured",
        json_schema_extra={"default": "250ms"},
    )
    options: dict[str, OptionValue] = Field(
        default_factory=dict,
        description="settings that the family has of its own, as { rows_i1 = 100000 }",
        json_schema_extra={"default": {}},
    )
    profile: bool = Field(
        default=False,
        description="keep a CPU profile of the server of every step; such runs share no series "
        "with those without",
    )


class ControlSection(SourceSection):
    """A pinned revision that every machine measures every night: what moves is the machine."""

    revision: str = Field(min_length=1, description="the one version that is measured")
    workload: str = Field(description="name of the workload, with its first number of clients")
    classes: tuple[str, ...] = Field(
        default=(), description="machine classes that measure it; empty for all"
    )


class Quick(Section):
    """What --quick puts in place of the settings above: a real night in two minutes."""

    repetitions: int = Field(default=2, ge=1, le=100, description="runs of every cell")
    newest: int = Field(default=2, ge=1, description="only the newest N revisions of a line")
    steps: tuple[str, ...] = Field(
        default=("point-query", "scan", "update-index"),
        min_length=1,
        description="step or group names",
    )
    rows: int = Field(default=5000, ge=1000, description="rows per table")
    measure: Duration = Field(
        default=1.0, description="measured time of a step", json_schema_extra={"default": "1s"}
    )
    warmup: Duration = Field(
        default=0.1,
        description="time a step runs before it is measured",
        json_schema_extra={"default": "100ms"},
    )
