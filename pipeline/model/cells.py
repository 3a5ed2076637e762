"""Types for workloads, and for cells, which say what is to be measured."""

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
    """The size and duration of a workload: tables, rows, clients, seconds.

    A value that a published result does not state is 0.
    """

    tables: int = Field(ge=0)
    rows: int = Field(ge=0)
    clients: int = Field(ge=0, le=MOST)
    measure: float = Field(ge=0)
    warmup: float = Field(ge=0)


class Mode(StrEnum):
    """How a step is measured: timed (operations/s) or counted (instructions per operation)."""

    TIME = "time"
    COUNT = "count"


OptionValue = bool | int | float | str
"""The value of a setting of a workload family."""


class Workload(Frozen):
    """A named, versioned sequence of steps at a scale.

    ``version`` changes with the scripts, so that results of different scripts never share a series.
    ``options`` are the configured settings of the workload's family. ``profile`` records a CPU
    profile of the server during steps. A profile costs performance, so it makes a separate
    workload. In the ``mode`` count, every step runs a fixed number of operations under an
    instruction counter; ``cache_simulation`` also counts the misses of simulated caches.

    ``placed_for`` is the number of clients for which processors are chosen: the largest number in a
    scale-up, so that all its workloads run on the same processors. ``pin`` names the processors
    explicitly instead. If both are unset, no processors are chosen for the workload, as in all
    bundles of an older nightshift. ``memory_bytes`` is the limit for the memory of the DBMS, page
    cache included; 0 for no limit.
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
    placed_for: int = Field(default=0, ge=0, le=MOST)
    pin: str = ""
    memory_bytes: int = Field(default=0, ge=0)

    @cached_property
    def hash(self) -> str:
        """A digest of the workload; workloads with equal digests measure the same."""
        return digest(self.model_dump(mode="json", exclude_defaults=True))


MEASURED_HOW = ("profile", "mode", "cache_simulation", "placed_for", "pin", "memory_bytes")
"""The fields of a workload that say how steps are measured, independent of which steps it has."""


class Control(Frozen):
    """What makes a run a control: the control's name, the machine and the night.

    A night is a day in UTC.
    """

    name: str
    machine: str
    night: date


class Cell(Frozen):
    """What is to be measured: a build with a configuration, a workload and a machine class.

    The number of clients is part of the workload's scale. A cell with a ``control`` is measured
    every night on every machine, and is on no line. ``imported`` is the line of an imported result,
    which nights do not measure; it is empty for all other cells.
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
        """The identity of the cell, by which a night knows that the cell was measured before."""
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
        """The name of one run of this cell, which is the same for all attempts at the run."""
        return f"{self.revision.target}-{self.revision.label}-{self.key[:12]}-r{repetition}"
