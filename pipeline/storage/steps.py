"""Queries of the store for steps of runs: how each ended, and what happened during it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Engine, case, func, select

from pipeline.model import StepStatus
from pipeline.storage.schema import (
    run,
    step,
    step_run,
)
from pipeline.storage.selection import OLDEST_FIRST, listed_in, of_runs, of_steps

_AT_ONCE = 50
"""Number of rows with timelines to hold in memory at once: a few megabytes."""


class StepOutcome(NamedTuple):
    """The result of one step of one run: its throughput and the DBMS's activity over time.

    ``timeline`` has entries [seconds since the start, operations per second, latency in
    milliseconds or None]. ``activity`` has, by name, entries [seconds since the start, value].
    ``marks`` are sentences that say why the step's figures need care. ``histogram`` has entries
    [upper bound in milliseconds, operations], ascending.
    """

    run_id: str
    step: str
    status: str
    note: str
    timeline: list[list[float | None]]
    marks: list[str]
    activity: dict[str, list[list[float]]]
    histogram: list[list[float]]


class StepRemark(NamedTuple):
    """The marks of one step of one run, which say why its figures need care.

    ``note`` has the rates that a step with a failed SLA did not sustain.
    """

    revision: str
    step: str
    status: str
    note: str
    marks: list[str]


class StepState(NamedTuple):
    """Whether one step of one run failed, and whether it was disturbed."""

    cell_key: str
    repetition: int
    step: str
    failed: bool
    disturbed: bool


class StepFailure(NamedTuple):
    """A step that failed or missed its SLA, and the reason."""

    run_id: str
    step: str
    status: str
    note: str


def outcomes(engine: Engine, *, cells: Sequence[str] | None = None) -> Iterator[StepOutcome]:
    """Yield the outcomes of steps one by one, because their timelines are large."""
    wanted = of_steps(
        select(
            run.c.run_id,
            step.c.name,
            step_run.c.status,
            step_run.c.note,
            step_run.c.timeline,
            step_run.c.marks,
            step_run.c.activity,
            step_run.c.histogram,
            step_run.c.disturbed,
        )
    ).order_by(*OLDEST_FIRST, step_run.c.place)
    wanted = of_runs(wanted, cells)
    with engine.connect() as connection:
        for found in connection.execution_options(yield_per=_AT_ONCE).execute(wanted):
            row = StepOutcome(*found[:-1])
            reported = [f"disturbed: {each}" for each in (found.disturbed or {}).values()]
            # Rows from before these columns have none.
            yield row._replace(
                marks=[*(row.marks or ()), *reported],
                activity=row.activity or {},
                histogram=row.histogram or [],
            )


def remarks(engine: Engine, *, cells: Sequence[str]) -> list[StepRemark]:
    """Return the steps with marks or a missed SLA, in the order of runs and steps."""
    wanted = of_steps(
        select(
            run.c.revision,
            step.c.name,
            step_run.c.status,
            step_run.c.note,
            step_run.c.marks,
            step_run.c.disturbed,
        )
    ).order_by(*OLDEST_FIRST, step_run.c.place)
    with engine.connect() as connection:
        found = []
        for row in connection.execute(of_runs(wanted, cells)):
            # The kind alone: details of many runs would be too long.
            kinds = [f"disturbed: {kind}" for kind in row.disturbed or ()]
            marks = [*(row.marks or ()), *kinds]
            found.append(StepRemark(row.revision, row.name, row.status, row.note, marks))
    return [row for row in found if row.marks or row.status == StepStatus.SLA_FAILED]


def activity_of(engine: Engine, run_id: str) -> Iterator[tuple[str, str, str, float]]:
    """Yield the mean of each activity of the DBMS in each step: (step, group, activity, mean)."""
    wanted = (
        of_steps(select(step.c.name, step.c.group, step_run.c.activity_mean))
        .where(run.c.run_id == run_id)
        .order_by(step_run.c.place)
    )
    with engine.connect() as connection:
        for name, group, means in connection.execute(wanted):
            for activity, mean in (means or {}).items():
                yield name, group, activity, mean


def step_states(engine: Engine, *, cells: Sequence[str]) -> Iterator[StepState]:
    """Yield for every step of some cells whether it failed or was disturbed."""
    wanted = (
        select(
            run.c.cell_key,
            run.c.repetition,
            step.c.name,
            step_run.c.status == StepStatus.FAILED.value,
            step_run.c.disturbed.is_not(None),
        )
        .select_from(run)
        .join(step_run, step_run.c.run == run.c.id)
        .join(step, step.c.id == step_run.c.step)
    )
    with engine.connect() as connection:
        for found in connection.execute(of_runs(wanted, cells)):
            yield StepState(*found)


def stayed_disturbed(engine: Engine, cells: Sequence[str]) -> set[str]:
    """Return the keys of those cells that have a step which every run of the cell disturbed."""
    if not cells:
        return set()
    undisturbed = func.sum(case((step_run.c.disturbed.is_(None), 1), else_=0))
    wanted = (
        of_runs(
            select(run.c.cell_key, step_run.c.step)
            .select_from(run)
            .join(step_run, step_run.c.run == run.c.id),
            cells,
        )
        .group_by(run.c.cell_key, step_run.c.step)
        .having(undisturbed == 0)
    )
    with engine.connect() as connection:
        return {key for key, _ in connection.execute(wanted)}


def disturbances_of(engine: Engine, run_ids: Collection[str]) -> dict[str, set[str]]:
    """Return which kinds of disturbance each disturbed one of some runs had."""
    wanted = listed_in(
        select(run.c.run_id, step_run.c.disturbed)
        .select_from(run)
        .join(step_run, step_run.c.run == run.c.id)
        .where(step_run.c.disturbed.is_not(None)),
        run.c.run_id,
        sorted(run_ids),
    )
    found: dict[str, set[str]] = {}
    with engine.connect() as connection:
        for run_id, kinds in connection.execute(wanted):
            found.setdefault(run_id, set()).update(kinds)
    return found


def failures(engine: Engine, *, cells: Sequence[str]) -> list[StepFailure]:
    """Return the steps that failed or missed their SLA, in the order of runs and steps."""
    wanted = (
        of_steps(select(run.c.run_id, step.c.name, step_run.c.status, step_run.c.note))
        .where(step_run.c.status != StepStatus.OK.value)
        .order_by(*OLDEST_FIRST, step_run.c.place)
    )
    with engine.connect() as connection:
        return [StepFailure(*found) for found in connection.execute(of_runs(wanted, cells))]


def count_failed(engine: Engine, run_ids: Collection[str]) -> int:
    """Return how many steps failed in some runs."""
    wanted = (
        select(func.count())
        .select_from(run)
        .join(step_run, step_run.c.run == run.c.id)
        .where(run.c.run_id.in_(run_ids), step_run.c.status == StepStatus.FAILED.value)
    )
    with engine.connect() as connection:
        return int(connection.execute(wanted).scalar_one())
