"""What the page and the site show of a line: its setups, their steps and metrics, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pipeline.model import Cell, Regression, SeriesKey, Shift, Step
from pipeline.report.tables import GROUPS
from pipeline.report.wording import Anchors
from pipeline.store.queries import Row
from pipeline.units import counted

THROUGHPUT = "qps"
TABLE_METRICS = (THROUGHPUT, "nopm", "cpu_us/o")
"""The metrics that have a relative table of their own."""

SHOWN_METRICS = (
    THROUGHPUT,
    "nopm",
    "tpm",
    "inserts/s",
    "deletes/s",
    "sla",
    "cpu_us/o",
    "cpu/o",
    "cs/o",
    "server_cs/o",
    "latency_p50",
    "latency_p95",
    "latency_p99",
    "latency_max",
    "inserts_p99",
    "inserts_max",
    "deletes_p99",
    "deletes_max",
    "rKB/o",
    "wKB/o",
    "r/o",
    "w/o",
    "wKB/i",
    "w/i",
    "w_amp",
    "stall%",
    "Nstall",
    "c_wgb",
    "c_rgb",
    "c_pending_gb",
    "lsm_gb",
    "instructions/o",
    "cycles/o",
    "cache_misses/o",
    "branch_misses/o",
    "dtlb_misses/o",
    "itlb_misses/o",
    "page_faults/o",
    "qps_cv",
    "qps_p1",
    "stall_s",
    "warming_s",
    "drift",
    "oscillation",
    "period_s",
    "client_us/o",
    "psi_cpu",
    "psi_io",
    "psi_memory",
    "steal",
    "errors",
)
"""The metrics beside the charts, in the order of their columns."""


class Setup(NamedTuple):
    """What is fixed along the series of a line besides the step and the metric."""

    config: str
    build_options: str
    machine_class: str
    workload: str
    workload_hash: str
    clients: int

    @classmethod
    def of(cls, key: SeriesKey | Row) -> Setup:
        """Return the setup that a series or a measurement belongs to."""
        return cls(
            key.config,
            key.build_options,
            key.machine_class,
            key.workload,
            key.workload_hash,
            key.clients,
        )

    @classmethod
    def of_cell(cls, cell: Cell) -> Setup:
        """Return the setup that the runs of a cell belong to."""
        return cls(
            config=cell.config.family,
            build_options=cell.build_options,
            machine_class=cell.machine_class,
            workload=cell.workload.name,
            workload_hash=cell.workload.hash,
            clients=cell.workload.scale.clients,
        )

    @property
    def title(self) -> str:
        """What tells it from the other setups of its line."""
        return (
            f"{self.workload}, {counted(self.clients, 'client')}, config {self.config}, "
            f"{self.build_options} build, {self.machine_class}"
        )


Place = tuple[str, Setup, str]
"""A step along a line: the line's name, the setup, the step's name."""


def name_places(places: Iterable[Place], anchors: Anchors) -> dict[Place, str]:
    """Give every place its anchor on the page, in the order of lines, setups and steps."""
    return {place: anchors.new(place[0], place[2]) for place in places}


def shifts_at(regressions: Iterable[Regression]) -> dict[Place, list[Shift]]:
    """Return the change points of every place, by position."""
    found: dict[Place, list[Shift]] = {}
    for regression in regressions:
        for shift in regression.shifts:
            place = (regression.line, Setup.of(shift.series), shift.series.step)
            found.setdefault(place, []).append(shift)
    return {place: sorted(shifts, key=lambda s: s.position) for place, shifts in found.items()}


def ordered(steps: Sequence[Step]) -> list[Step]:
    """Order steps by group as published, within a group as they are run.

    Families whose groups are others are published as they are run.
    """
    if not {step.group for step in steps} <= set(GROUPS):
        return list(steps)
    return sorted(steps, key=lambda step: GROUPS.index(step.group))
