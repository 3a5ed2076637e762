"""Compare the newest results with the levels that people have accepted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from pipeline.measure.plan import Plan
from pipeline.regressions.accepted import SeriesStatus, statuses
from pipeline.regressions.anchors import anchors
from pipeline.regressions.watched import SLA, watched_metrics, watched_series
from pipeline.report.grid import Grid
from pipeline.report.status import status_grids
from pipeline.storage.columns import measurement_columns
from pipeline.storage.journal import now
from pipeline.text.errors import UserError, did_you_mean
from pipeline.use_cases.planning import PlanningContext

DAYS = 14
"""Number of newest days with results that the status shows."""


class Status(NamedTuple):
    """The newest days with results, and the status of every series that they measured."""

    days: tuple[date, ...]
    rows: tuple[SeriesStatus, ...]

    @property
    def off(self) -> tuple[SeriesStatus, ...]:
        """The series that are off their accepted level on their last day."""
        return tuple(row for row in self.rows if row.newest.tone)


def read_status(context: PlanningContext, plan: Plan, days: int = DAYS, line: str = "") -> Status:
    """Return the status of the watched series of a plan over the newest days with results.

    Series without a run on these days are left out. Raises UserError for an unknown line.
    """
    names = [each.name for each in plan.lines]
    if line and line not in names:
        raise UserError(f"there is no line {line!r}; {did_you_mean(line, names)}")
    settings = context.config.detect
    metrics = watched_metrics(plan, settings)
    columns = measurement_columns(context.store, metrics, context.results)
    series = [
        one
        for one in watched_series(columns, plan, settings)
        # Whether an SLA was met has no level.
        if one.key.metric != SLA and line in ("", one.key.line)
    ]
    known = context.regressions.known(now())
    found = statuses(
        series,
        list(known.values()),
        {each.name: each.positions for each in plan.lines},
        anchors(plan, known, settings.creep_since),
        {head.run_id: head.started_at.date() for head in columns.heads},
        {one.key: settings.smallest(one.key.mode) for one in series},
    )
    shown = tuple(sorted({day for row in found for day in row.days})[-days:])
    rows = (row for row in found if row.days.keys() & set(shown))
    return Status(shown, tuple(rows))


def grids_of_status(
    context: PlanningContext, status: Status, rows: Sequence[SeriesStatus]
) -> list[Grid]:
    """Return the tables of some rows of a status."""
    return status_grids(rows, status.days, context.config.report)
