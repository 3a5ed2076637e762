"""The steps of the Insert Benchmark, in the order of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from pipeline.workloads.base.steps import StepNames

WRITE: Final = "loads and writes"
RANGE: Final = "range queries"
POINT: Final = "point queries"

INSERTS: Final = "inserts"
DELETES: Final = "deletes"
INDEXES: Final = "indexes"
QUERIES: Final = "queries"

SECONDARY_INDEXES: Final = 3
"""Number of secondary indexes of each table, which the step l.x creates."""


class InsertBenchmarkStep(NamedTuple):
    """One step of the Insert Benchmark.

    ``kinds`` are the kinds of work; each client has a connection for each, and the first kind is
    measured. ``commit`` is the number of rows per transaction. ``rate`` is the number of rows that
    a client inserts, and also deletes, per second during its queries; 0 means that the step runs at
    full speed, without queries.
    """

    name: str
    group: str
    kinds: tuple[str, ...]
    commit: int = 1
    rate: int = 0

    @property
    def measured(self) -> str:
        """The kind of work whose rate is the throughput of the step."""
        return self.kinds[0]

    @property
    def queries(self) -> bool:
        """Whether the step runs queries for a fixed time, instead of loading a number of rows."""
        return self.measured == QUERIES

    @property
    def unit(self) -> str:
        """The unit of the step's throughput."""
        return "queries" if self.queries else "rows"


_BESIDE_QUERIES = (QUERIES, INSERTS, DELETES)
_QUERIES_COMMIT = 50

STEPS: Final = (
    InsertBenchmarkStep("l.i0", WRITE, (INSERTS,), commit=100),
    InsertBenchmarkStep("l.x", WRITE, (INDEXES,)),
    InsertBenchmarkStep("l.i1", WRITE, (INSERTS, DELETES), commit=50),
    InsertBenchmarkStep("l.i2", WRITE, (INSERTS, DELETES), commit=5),
    InsertBenchmarkStep("qr100", RANGE, _BESIDE_QUERIES, _QUERIES_COMMIT, 100),
    InsertBenchmarkStep("qp100", POINT, _BESIDE_QUERIES, _QUERIES_COMMIT, 100),
    InsertBenchmarkStep("qr500", RANGE, _BESIDE_QUERIES, _QUERIES_COMMIT, 500),
    InsertBenchmarkStep("qp500", POINT, _BESIDE_QUERIES, _QUERIES_COMMIT, 500),
    InsertBenchmarkStep("qr1000", RANGE, _BESIDE_QUERIES, _QUERIES_COMMIT, 1000),
    InsertBenchmarkStep("qp1000", POINT, _BESIDE_QUERIES, _QUERIES_COMMIT, 1000),
)
"""All steps, in the published order."""

_NAMES: Final = StepNames(STEPS)

step_named: Final = _NAMES.named


def select(names: Iterable[str]) -> tuple[InsertBenchmarkStep, ...]:
    """Return the Insert Benchmark steps that match some names, in the order of a run.

    Each step includes the load steps before it, which determine the state of the table and its
    indexes. Raises UnknownStepError for an unknown name.
    """
    chosen = _NAMES.select(names)
    last = max(map(STEPS.index, chosen), default=-1)
    return tuple(
        spec for at, spec in enumerate(STEPS) if spec in chosen or (at < last and not spec.queries)
    )
