"""The order in which pages show the setups, steps and metrics of a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pipeline.model import Cell, SeriesKey, Step
from pipeline.model.counts import INSTRUCTIONS
from pipeline.report.tables import GROUPS
from pipeline.site.format import Anchors
from pipeline.storage.imported_runs import FAMILY as PUBLISHED
from pipeline.text.units import plural

THROUGHPUT = "qps"
TABLE_METRICS = (THROUGHPUT, "nopm", "time_us/o", "cpu_us/o", INSTRUCTIONS)
"""The metrics that have a separate relative table."""

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
    INSTRUCTIONS,
    "l1_misses/o",
    "ll_misses/o",
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
"""The metrics shown next to the charts, in column order."""


class LineSetup(NamedTuple):
    """What all series of a line have in common, except step and metric."""

    config: str
    build_options: str
    machine_class: str
    workload: str
    workload_hash: str
    clients: int

    @classmethod
    def of(cls, key: SeriesKey) -> LineSetup:
        """Return the setup of a series."""
        return cls(
            key.config,
            key.build_options,
            key.machine_class,
            key.workload,
            key.workload_hash,
            key.clients,
        )

    @classmethod
    def of_cell(cls, cell: Cell) -> LineSetup:
        """Return the setup of a cell's runs."""
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
        """The text that distinguishes this setup from the others of its line."""
        if self.config == PUBLISHED:
            return f"{self.workload}, imported, {self.machine_class}"
        return (
            f"{self.workload}, {plural(self.clients, 'client')}, config {self.config}, "
            f"{self.build_options} build, {self.machine_class}"
        )


Place = tuple[str, LineSetup, str]
"""A step along a line: the line's name, the setup, the step's name."""


def name_places(places: Iterable[Place], anchors: Anchors) -> dict[Place, str]:
    """Return a name for links to each part of the page, by line, setup and step."""
    return {place: anchors.new(place[0], place[2]) for place in places}


def ordered(steps: Sequence[Step]) -> list[Step]:
    """Order steps by their group, and within a group as they are run.

    Steps of families with other groups keep their published order.
    """
    if not {step.group for step in steps} <= set(GROUPS):
        return list(steps)
    return sorted(steps, key=lambda step: GROUPS.index(step.group))
