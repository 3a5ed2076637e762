"""Workloads, and the cells that the planner schedules."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from functools import cached_property

from pydantic import Field

from pipeline.model.base import MOST, Frozen, digest
from pipeline.model.builds import Revision, ServerConfig


class Step(Frozen):
    """One measured part of a workload."""

    name: str
    group: str
    unit: str


class Scale(Frozen):
    """Size and duration: tables, rows per table, clients, measured seconds and warm-up seconds.

    Zero if a published result does not state it.
    """

    tables: int = Field(ge=0)
    rows: int = Field(ge=0)
    clients: int = Field(ge=0, le=MOST)
    measure: float = Field(ge=0)
    warmup: float = Field(ge=0)


class Mode(StrEnum):
    """How a step is measured: operations per second, or instructions per operation."""

    TIME = "time"
    COUNT = "count"


OptionValue = bool | int | float | str
"""The value of a setting of a workload family."""


class Workload(Frozen):
    """A named, versioned sequence of steps at a scale.

    ``version`` changes with the scripts, so that results of different scripts never share a series.
    ``options`` are the configured settings of its family. ``profile`` records a CPU profile of the
    server during steps. That costs performance, so it makes a separate workload. Of the ``mode``
    count, every step runs a fixed number of operations under an instruction counter;
    ``cache_simulation`` also counts the misses of simulated caches.
    """

    family: str
    name: str
    version: str
    scale: Scale
    steps: tuple[Step, ...]
    options: dict[str, OptionValue] = Field(default_factory=dict)
    profile: bool = False
    mode: Mode = Mode.TIME
    cache_simulation: bool = False

    @cached_property
    def hash(self) -> str:
        """Digest: workloads with equal hashes measure the same thing."""
        return digest(self.model_dump(mode="json", exclude_defaults=True))


class Control(Frozen):
    """What makes a run a control: its name, its machine (the hostname), and its night.

    A night is a day in UTC.
    """

    name: str
    machine: str
    night: date


class Cell(Frozen):
    """What the planner schedules: build x config x machine class x workload.

    The number of clients is part of the workload's scale. A ``control`` is measured every night on
    every machine, and is on no line. ``imported`` is the line of an imported result, which no night
    measures; empty for all others.
    """

    revision: Revision
    build_options: str
    config: ServerConfig
    machine_class: str
    workload: Workload
    control: Control | None = None
    imported: str = ""

    @cached_property
    def key(self) -> str:
        """Identity of the cell: a measured one is not measured again."""
        if self.imported:
            return digest([self.imported, self.revision.label, self.workload.hash])
        control = {"control": self.control.model_dump(mode="json")} if self.control else {}
        return digest(
            {
                **control,
                "target": self.revision.target,
                "revision": self.revision.label,
                "source": self.revision.supply.name if self.revision.supply else "",
                "build_options": self.build_options,
                "config": [self.config.name, self.config.hash],
                "machine_class": self.machine_class,
                "workload": self.workload.hash,
            }
        )

    def run_id(self, repetition: int) -> str:
        """Name of one execution of this cell; the same for every attempt."""
        return f"{self.revision.target}-{self.revision.label}-{self.key[:12]}-r{repetition}"
