"""The settings that say what is measured: lines, workloads, repetitions, the short night."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from pipeline.config.base import Name, Section, Version
from pipeline.machine.pinning import read_pin
from pipeline.model import MOST, Mode, OptionValue
from pipeline.text.units import Duration, Size

_MOST_ROWS = 10**12
"""Maximum number of rows in a table: more than any machine can hold."""


_LEAST_MEMORY = 10**9


class NightSection(Section):
    """The table ``[night]``: how many runs of every cell a night does."""

    repetitions: int = Field(default=3, ge=1, le=100, description="number of runs of every cell")


class SourceSection(Section):
    """The settings of a line or a control that say where its revisions come from."""

    name: Name = Field(description="name of the line, as tables and issues show it")
    target: str = Field(description="the DBMS: one that `nightshift targets` lists")
    source: str = Field(
        default="",
        description="source of its revisions: one that `nightshift targets` lists; by "
        "default the first",
    )
    repository: str = Field(
        default="",
        description=("for the sources git and tags: another repository, as an address or a folder"),
    )
    branch: str = Field(
        default="",
        description=("for the source git: the branch of the commits, if not the default one"),
    )
    major: Version = Field(
        default="",
        description=(
            "for git: the major version whose configuration the commits of the branch use; by "
            "default the newest"
        ),
    )
    build: str = Field(
        default="",
        description=(
            "name of the build options; by default official for prebuilt releases and "
            "rel_o2nofp for source code"
        ),
    )


class LineSection(SourceSection):
    """A table ``[[line]]``: a sequence of revisions of one target."""

    take: Literal["newest-of-each-major", "all"] = Field(
        default="all", description="selection of the releases between since and until"
    )
    since: Version = Field(default="", description="first version or major version")
    until: Version = Field(default="", description="last version or major version")
    revisions: tuple[str, ...] = Field(
        default=(),
        description="exactly these versions; a copy of one, for example 17.11#2, is a "
        "control (A/A)",
    )
    bisect: str = Field(
        default="",
        description=(
            "for releases: the line of commits of the same target on which bisection searches "
            "for culprits"
        ),
    )
    newest: int = Field(
        default=0,
        ge=0,
        description=(
            "measure only the newest N revisions; revisions that were measured before stay on "
            "the line; 0 for all"
        ),
    )

    @model_validator(mode="after")
    def _explicit_or_selected(self) -> LineSection:
        if self.revisions and self.model_fields_set & {"take", "since", "until", "newest"}:
            raise ValueError("set revisions, or any of take, since, until and newest, but not both")
        return self


class WorkloadSection(Section):
    """A table ``[[workload]]``: a workload, and the DBMS configurations that it runs with."""

    name: Name = Field(description="name of the workload, as tables and reports show it")
    family: str = Field(default="sysbench", description="the workload family, for example sysbench")
    config: Name = Field(default="x10a", description="name of the DBMS configuration")
    configs: dict[str, Name] = Field(
        default_factory=dict,
        description=(
            'another configuration for the lines of a target, for example { mariadb = "z12b" }'
        ),
        json_schema_extra={"default": {}},
    )
    lines: tuple[str, ...] = Field(
        default=(),
        description="names of the lines that are measured with this workload; empty for all",
    )
    steps: tuple[str, ...] = Field(
        default=("all",),
        description=('names of the steps or groups of steps to run, or "all"'),
        min_length=1,
    )
    tables: int = Field(default=1, ge=1, le=MOST, description="number of tables")
    rows: int = Field(default=20_000, ge=1000, le=_MOST_ROWS, description="rows per table")
    clients: tuple[Annotated[int, Field(ge=1, le=MOST)], ...] = Field(
        default=(1,),
        min_length=1,
        description="numbers of clients (connections) at once; each number is measured by itself",
    )
    measure: Duration = Field(
        default="1s", validate_default=True, description="measured time of a step"
    )
    warmup: Duration = Field(
        default="250ms", validate_default=True, description="time a step runs before it is measured"
    )
    options: dict[str, OptionValue] = Field(
        default_factory=dict,
        description="settings of the workload family, for example { rows_i1 = 100000 }",
        json_schema_extra={"default": {}},
    )
    profile: bool = Field(
        default=False,
        description=(
            "record a CPU profile of the server in every step; runs with and without profiles "
            "have separate series"
        ),
    )
    mode: Mode = Field(
        default=Mode.TIME,
        description=(
            "time: operations per second; count: instructions per operation, one run of each "
            "cell, exact on any machine"
        ),
    )
    cache_simulation: bool = Field(
        default=False,
        description="in mode count: also count the misses of simulated caches, four times slower",
    )
    pin: str = Field(
        default="",
        description=(
            "processors of the server and of the client, for example 0-7:8-9; empty to choose "
            "them by the work"
        ),
    )

    memory: Size | None = Field(
        default=None,
        description=(
            "memory that the DBMS may use, page cache included, for example 2GB; its "
            "configuration is scaled to it. Needs root and writable control groups"
        ),
    )

    @field_validator("memory")
    @classmethod
    def _enough(cls, memory: int | None) -> int | None:
        if memory is not None and memory < _LEAST_MEMORY:
            raise ValueError(
                "the memory of a workload must be at least 1GB, because configurations are not "
                "scaled to smaller machines"
            )
        return memory

    @field_validator("pin")
    @classmethod
    def _processors(cls, pin: str) -> str:
        if pin:
            read_pin(pin)
        return pin

    @model_validator(mode="after")
    def _counted_alone(self) -> WorkloadSection:
        if self.mode is Mode.COUNT:
            if self.clients != (1,):
                raise ValueError(
                    'a workload with mode = "count" always has one client; remove the setting '
                    "clients"
                )
            if self.profile:
                raise ValueError(
                    'a workload with mode = "count" already records the cost of each function; '
                    "remove the setting profile"
                )
            if self.pin:
                raise ValueError(
                    'a workload with mode = "count" runs on one processor, because more '
                    "processors would not change the count; remove the setting pin"
                )
            if self.memory is not None:
                raise ValueError(
                    'a workload with mode = "count" has no memory limit, because waiting for '
                    "storage does not change the count; remove the setting memory"
                )
        elif self.cache_simulation:
            raise ValueError(
                'cache_simulation works only with mode = "count"; remove it, or change the mode'
            )
        return self

    def measured_how(self, pin: bool) -> dict[str, Mode | bool | int | str]:
        """Return the settings of a workload that say how its steps are measured.

        Without ``pin`` nothing is pinned, unless the workload itself names processors.
        """
        by_work = pin and not self.pin and self.mode is Mode.TIME
        return {
            "profile": self.profile,
            "mode": self.mode,
            "cache_simulation": self.cache_simulation,
            "placed_for": max(self.clients) if by_work else 0,
            "pin": self.pin,
            "memory_bytes": self.memory or 0,
        }


class ControlSection(SourceSection):
    """A table ``[[control]]``: a fixed revision that every machine measures every night."""

    revision: str = Field(min_length=1, description="the version that is measured")
    workload: str = Field(description="name of the workload; its first number of clients is used")
    classes: tuple[str, ...] = Field(
        default=(), description="machine classes that measure this control; empty for all"
    )


class Quick(Section):
    """The table ``[quick]``: the settings of a short night (--quick) of two minutes."""

    repetitions: int = Field(default=2, ge=1, le=100, description="number of runs of every cell")
    newest: int = Field(default=2, ge=1, description="only the newest N revisions of a line")
    steps: tuple[str, ...] = Field(
        default=("point-query", "scan", "update-index"),
        min_length=1,
        description="step or group names",
    )
    rows: int = Field(default=5000, ge=1000, le=_MOST_ROWS, description="rows per table")
    measure: Duration = Field(
        default="1s", validate_default=True, description="measured time of a step"
    )
    warmup: Duration = Field(
        default="100ms", validate_default=True, description="time a step runs before it is measured"
    )
