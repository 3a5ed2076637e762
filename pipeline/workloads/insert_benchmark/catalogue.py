"""The steps of the Insert Benchmark as data, in the order of one run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from pipeline.errors import meant

WRITE: Final = "loads and writes"
RANGE: Final = "range queries"
POINT: Final = "point queries"

ALL: Final = "all"
"""The alias of every step."""

INSERTS: Final = "inserts"
DELETES: Final = "deletes"
INDEXES: Final = "indexes"
QUERIES: Final = "queries"

SECONDARY_INDEXES: Final = 3
"""Of each table; l.x makes them."""


class StepSpec(NamedTuple):
    """One step.

    ``kinds`` are the kinds of work that each client has a connection for; the first is what is
    measured. ``commit`` is the rows of a transaction, ``rate`` the rows that a client inserts, and
    deletes, per second beside its queries; 0 where there are none, and as many as can be.
    """

    name: str
    group: str
    kinds: tuple[str, ...]
    commit: int = 1
    rate: int = 0

    @property
    def measured(self) -> str:
        """The kind of work that is the step's throughput."""
        return self.kinds[0]

    @property
    def queries(self) -> bool:
        """Whether it asks for a time; the others end when all their rows are done."""
        return self.measured == QUERIES

    @property
    def unit(self) -> str:
        """What its throughput counts."""
        return "queries" if self.queries else "rows"


_BESIDE_QUERIES = (QUERIES, INSERTS, DELETES)
_QUERIES_COMMIT = 50

STEPS: Final = (
    StepSpec("l.i0", WRITE, (INSERTS,), commit=100),
    StepSpec("l.x", WRITE, (INDEXES,)),
    StepSpec("l.i1", WRITE, (INSERTS, DELETES), commit=50),
    StepSpec("l.i2", WRITE, (INSERTS, DELETES), commit=5),
    StepSpec("qr100", RANGE, _BESIDE_QUERIES, _QUERIES_COMMIT, 100),
    StepSpec("qp100", POINT, _BESIDE_QUERIES, _QUERIES_COMMIT, 100),
    StepSpec("qr500", RANGE, _BESIDE_QUERIES, _QUERIES_COMMIT, 500),
    StepSpec("qp500", POINT, _BESIDE_QUERIES, _QUERIES_COMMIT, 500),
    StepSpec("qr1000", RANGE, _BESIDE_QUERIES, _QUERIES_COMMIT, 1000),
    StepSpec("qp1000", POINT, _BESIDE_QUERIES, _QUERIES_COMMIT, 1000),
)
"""All steps, in the published order."""

_NAMES: Final = (*(spec.name for spec in STEPS), WRITE, RANGE, POINT, ALL)


def step_named(name: str) -> StepSpec:
    """Return a step. Raises ValueError for one that is not there."""
    for spec in STEPS:
        if spec.name == name:
            return spec
    raise ValueError(f"the Insert Benchmark has no step or group {name!r}; {meant(name, _NAMES)}")


def select(names: Iterable[str]) -> tuple[StepSpec, ...]:
    """Return the steps that are named, by themselves or by their group, in the order of a run.

    With every step come those of the load before it: they make the table and its indexes what
    they are. Raises ValueError for an unknown name.
    """
    chosen: set[str] = set()
    for name in names:
        group = {spec.name for spec in STEPS if name in (spec.group, ALL)}
        chosen |= group or {step_named(name).name}
    last = max((at for at, spec in enumerate(STEPS) if spec.name in chosen), default=-1)
    return tuple(
        spec
        for at, spec in enumerate(STEPS)
        if spec.name in chosen or (at < last and not spec.queries)
    )
