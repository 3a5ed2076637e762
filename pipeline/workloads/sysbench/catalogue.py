"""The steps of the workload family sysbench, in the order of a run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pipeline.workloads.base.steps import StepNames

POINT: Final = "point queries"
RANGE: Final = "range queries without aggregation"
AGGREGATE: Final = "range queries with aggregation"
WRITE: Final = "writes"

GROUPS: Final = (POINT, RANGE, AGGREGATE, WRITE)
"""The groups of steps, named and ordered as in the published tables."""


class Unit(StrEnum):
    """What the throughput of a sysbench step counts: queries or rows."""

    QUERIES = "queries"
    ROWS = "rows"


class Phase(StrEnum):
    """The part of a run in which a sysbench step is executed."""

    BEFORE_MAINTENANCE = "before maintenance"
    AFTER_MAINTENANCE = "after maintenance"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Microbenchmark:
    """One step of sysbench: its script and options.

    Attributes:
        lua_step: the value of ``--step`` of the Lua scripts.
        range: scan length, in-list length or rows per transaction: ``--range``.
        group: one of :data:`GROUPS`.
        unit: the unit of its throughput.
        statements_per_event: SQL statements of one event, BEGIN and COMMIT included;
            constant for a step.
        phase: its place in the run.
    """

    lua_step: str
    range: int
    group: str
    unit: Unit
    statements_per_event: int
    phase: Phase

    @property
    def name(self) -> str:
        """The published name, such as ``random-points_range=10``."""
        return f"{self.lua_step}_range={self.range}"

    @property
    def counted_events(self) -> int:
        """How many sysbench events the shorter counted run of this step executes."""
        if self.unit is Unit.ROWS:
            return 1
        if self.lua_step in _ONE_ROW:
            return _COUNTED_EVENTS
        rows = self.range if self.statements_per_event == 1 else 2 * self.range
        return max(2, min(_COUNTED_EVENTS, _COUNTED_ROWS // rows))

    def operations_per_event(self, table_size: int) -> int:
        """Return the number of operations in one sysbench event.

        An event of a step that counts rows reads one whole table.
        """
        return table_size if self.unit is Unit.ROWS else self.statements_per_event


_COUNTED_EVENTS = 500
_COUNTED_ROWS = 10_000
"""Maximum number of events of a counted run, and roughly of rows that they read. With so many,
differences in the cost of connecting are below a ten-thousandth of the count, and a run takes a
second or two under callgrind."""

_ONE_ROW = frozenset(
    {
        "point-query",
        "update-index",
        "update-nonindex",
        "update-one",
        "update-zipf",
        "delete",
        "insert",
    }
)
"""Steps whose events access one row, whatever ``range`` is."""

_TRANSACTION = 2  # BEGIN and COMMIT
_POINT_SELECTS = 10
_READS = _POINT_SELECTS + 4  # simple, sum, order and distinct range query
_WRITES = 4  # index update, nonindex update, delete, insert


def _steps(
    group: str, phase: Phase, *rows: tuple[str, int, int], unit: Unit = Unit.QUERIES
) -> tuple[Microbenchmark, ...]:
    return tuple(
        Microbenchmark(lua_step, length, group, unit, statements, phase)
        for lua_step, length, statements in rows
    )


STEPS: Final[tuple[Microbenchmark, ...]] = (
    *_steps(
        WRITE,
        Phase.BEFORE_MAINTENANCE,
        ("update-inlist", 100, 1),
        ("update-index", 100, 1),
        ("update-nonindex", 100, 1),
        ("update-one", 100, 1),
        ("update-zipf", 100, 1),
        ("write-only", 10000, _TRANSACTION + _WRITES),
        ("read-write", 10, _TRANSACTION + _READS + _WRITES),
        ("read-write", 100, _TRANSACTION + _READS + _WRITES),
    ),
    *_steps(RANGE, Phase.AFTER_MAINTENANCE, ("scan", 100, 1), unit=Unit.ROWS),
    *_steps(
        AGGREGATE,
        Phase.AFTER_MAINTENANCE,
        ("read-only", 10, _TRANSACTION + _READS),
        ("read-only", 100, _TRANSACTION + _READS),
        ("read-only", 10000, _TRANSACTION + _READS),
        ("read-only-simple", 1000, _TRANSACTION + _POINT_SELECTS + 1),
        ("read-only-sum", 1000, _TRANSACTION + _POINT_SELECTS + 1),
        ("read-only-order", 1000, _TRANSACTION + _POINT_SELECTS + 1),
        ("read-only-distinct", 1000, _TRANSACTION + _POINT_SELECTS + 1),
        ("read-only-count", 1000, 1),
    ),
    *_steps(
        POINT,
        Phase.AFTER_MAINTENANCE,
        ("point-query", 100, 1),
        ("random-points", 10, 1),
        ("random-points", 100, 1),
        ("random-points", 1000, 1),
        ("hot-points", 100, 1),
        ("points-covered-pk", 100, 1),
        ("points-covered-si", 100, 1),
        ("points-notcovered-pk", 100, 1),
        ("points-notcovered-si", 100, 1),
    ),
    *_steps(
        RANGE,
        Phase.AFTER_MAINTENANCE,
        ("range-covered-pk", 100, 1),
        ("range-covered-si", 100, 1),
        ("range-notcovered-pk", 100, 1),
        ("range-notcovered-si", 100, 1),
    ),
    *_steps(WRITE, Phase.LAST, ("delete", 100, 1), ("insert", 100, 1)),
)
"""All steps, in the order of a run. The steps of :attr:`Phase.LAST` change the tables' sizes."""

WARMUPS: Final = ("point-query_range=100", "scan_range=100")
"""Names of the steps that run unmeasured right after the load."""

_NAMES: Final = StepNames(STEPS, short=lambda step: step.lua_step)

step_named: Final = _NAMES.named
matching: Final = _NAMES.matching
select: Final = _NAMES.select
