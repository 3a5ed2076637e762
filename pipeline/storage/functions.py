"""Queries for the instructions that each function of a DBMS used in counted steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Engine, func, select

from pipeline.storage.schema import function, function_cost, run, step, step_run
from pipeline.storage.selection import listed_in, of_steps


class FunctionRange(NamedTuple):
    """The lowest and the highest instruction count of one function over many runs of a step."""

    step: str
    function: int
    name: str
    binary: str
    low: float
    high: float
    runs: int


class StoredFunctionCost(NamedTuple):
    """The instructions per operation of one function, in one step of one run."""

    run_id: str
    step: str
    function: int
    self_cost: float
    inclusive_cost: float


def function_ranges(engine: Engine, cells: Sequence[str]) -> list[FunctionRange]:
    """Return the range of every function in the counted steps of some cells, by step and name.

    The store has a function only in runs in which it executed at least LEAST_SHARE of the step's
    instructions, so a function may have fewer runs than its step.
    """
    # Grouped by ids, and the names joined afterwards: twice as fast over millions of rows.
    found = listed_in(
        select(
            step_run.c.step.label("step"),
            function_cost.c.function.label("function"),
            func.min(function_cost.c.self_cost).label("low"),
            func.max(function_cost.c.self_cost).label("high"),
            func.count().label("runs"),
        )
        .select_from(run)
        .join(step_run, step_run.c.run == run.c.id)
        .join(function_cost, function_cost.c.step_run == step_run.c.id)
        .group_by(step_run.c.step, function_cost.c.function),
        run.c.cell_key,
        cells,
    ).subquery()
    wanted = (
        select(
            step.c.name,
            found.c.function,
            function.c.name,
            function.c.binary,
            found.c.low,
            found.c.high,
            found.c.runs,
        )
        .select_from(found)
        .join(step, step.c.id == found.c.step)
        .join(function, function.c.id == found.c.function)
    )
    with engine.connect() as connection:
        ranges = [FunctionRange(*row) for row in connection.execute(wanted)]
    return sorted(ranges, key=lambda each: (each.step, each.name, each.binary))


def function_costs(
    engine: Engine, cells: Sequence[str], functions: Sequence[int]
) -> list[StoredFunctionCost]:
    """Return the instructions per operation of some functions in all runs of some cells."""
    wanted = listed_in(
        of_steps(
            select(
                run.c.run_id,
                step.c.name,
                function_cost.c.function,
                function_cost.c.self_cost,
                function_cost.c.inclusive_cost,
            )
        )
        .join(function_cost, function_cost.c.step_run == step_run.c.id)
        .where(function_cost.c.function.in_(functions)),
        run.c.cell_key,
        cells,
    )
    with engine.connect() as connection:
        return [StoredFunctionCost(*row) for row in connection.execute(wanted)]
