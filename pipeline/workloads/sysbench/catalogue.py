"""The sysbench microbenchmarks: every step as data, in the order of one run."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

POINT: Final = "point queries"
RANGE: Final = "range queries without aggregation"
AGGREGATE: Final = "range queries with aggregation"
WRITE: Final = "writes"

GROUPS: Final = (POINT, RANGE, AGGREGATE, WRITE)
"""The groups, named and ordered as in the published tables."""

ALL: Final = "all"
"""The alias of every step."""


class Unit(StrEnum):
    """What the throughput of a step counts."""

    QUERIES = "queries"
    ROWS = "rows"


class Phase(StrEnum):
    """When in a run a step has its place."""

    BEFORE_MAINTENANCE = "before maintenance"
    AFTER_MAINTENANCE = "after maintenance"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class StepSpec:
    """One microbenchmark.

    Attributes:
        lua_step: the value of ``--step`` of the Lua scripts.
        range: scan length, in-list length or rows per transaction: ``--range``.
        group: one of :data:`GROUPS`.
        unit: what its throughput counts.
        statements_per_event: SQL statements that one event executes, BEGIN and COMMIT
            among them; constant for a step.
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
        """The published name, as in reports: ``random-points_range=10``."""
        return f"{self.lua_step}_range={self.range}"

    def operations_per_event(self, table_size: int) -> int:
        """Return how many of its unit one event is, with ``table_size`` rows per table.

        An event of a step that counts rows reads one whole table.
        """
        return table_size if self.unit is Unit.ROWS else self.statements_per_event


_TRANSACTION = 2  # BEGIN and COMMIT
_POINT_SELECTS = 10
_READS = _POINT_SELECTS + 4  # simple, sum, order and distinct range query
_WRITES = 4  # index update, nonindex update, delete, insert


def _steps(
    group: str, phase: Phase, *rows: tuple[str, int, int], unit: Unit = Unit.QUERIES
) -> tuple[StepSpec, ...]:
    return tuple(
        StepSpec(lua_step, length, group, unit, statements, phase)
        for lua_step, length, statements in rows
    )


STEPS: Final[tuple[StepSpec, ...]] = (
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
"""All steps, in the order of one run. Those of :attr:`Phase.LAST` change the tables' size."""

WARMUPS: Final = ("point-query_range=100", "scan_range=100")
"""Names of the steps that run unmeasured right after the load."""

_BY_NAME: Final = {step.name: step for step in STEPS}


def _aliases() -> dict[str, tuple[StepSpec, ...]]:
    aliases: dict[str, tuple[StepSpec, ...]] = {ALL: STEPS}
    for group in GROUPS:
        aliases[group] = tuple(step for step in STEPS if step.group == group)
    for spec in STEPS:
        aliases[spec.lua_step] = tuple(step for step in STEPS if step.lua_step == spec.lua_step)
    return aliases


_ALIASES: Final = _aliases()


def step_named(name: str) -> StepSpec:
    """Return the step of a published name. Raises ValueError when there is none."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    raise ValueError(_unknown(name, _BY_NAME))


def matching(name: str) -> tuple[StepSpec, ...]:
    """Return the steps that ``name`` stands for, in the order of one run.

    ``name`` is a published name, one without its range (``point-query``; ``random-points``
    is all three), a group, or ``all``. Raises ValueError, naming what is close, otherwise.
    """
    if name in _BY_NAME:
        return (_BY_NAME[name],)
    if name in _ALIASES:
        return _ALIASES[name]
    raise ValueError(_unknown(name, {**_BY_NAME, **_ALIASES}))


def select(names: Iterable[str]) -> tuple[StepSpec, ...]:
    """Return what all ``names`` stand for, each step once, in the order of one run.

    Raises ValueError as :func:`matching` does.
    """
    chosen = {step for name in names for step in matching(name)}
    return tuple(step for step in STEPS if step in chosen)


def _unknown(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(_ALIASES)}"
    return f"there is no step {name!r}; {hint}"
