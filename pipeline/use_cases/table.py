"""Make tables of results in the published layouts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pipeline.measure.plan import Line, Plan
from pipeline.model.metrics import METRICS
from pipeline.report.grid import Grid
from pipeline.report.layouts import LAYOUTS, make_grids
from pipeline.report.layouts.base import TableOptions
from pipeline.report.tables import MeasuredSubject, measured_subjects, newest_revisions
from pipeline.storage.imported_lines import imported_lines
from pipeline.storage.runs import measured_cells
from pipeline.text.errors import UserError, did_you_mean
from pipeline.use_cases.planning import PlanningContext


class TableRequest(NamedTuple):
    """Which tables to make; empty fields mean the defaults of the layout.

    With ``absolute``, only tables of absolute values; with ``every``, all revisions of long lines.
    """

    layout: str = ""
    base: str = ""
    line: str = ""
    metric: str = ""
    decimals: int | None = None
    absolute: bool = False
    every: bool = False


class Tables(NamedTuple):
    """The tables, and how many measured revisions of each line they leave out."""

    grids: list[Grid]
    left_out: Mapping[str, int]


class LineTables(NamedTuple):
    """The tables of one line, and whether they show all of its revisions."""

    grids: list[Grid]
    whole: bool


def newest_tables(context: PlanningContext, line: Line, columns: int) -> LineTables:
    """Return the tables of a line with its first and its newest revisions."""
    short, left_out = newest_revisions(
        line, measured_cells(context.store), newest=columns - 1, long=columns
    )
    subjects = measured_subjects(context.store, short)
    return LineTables(make_grids(subjects, TableOptions(context.config.report)), not left_out)


def make_tables(context: PlanningContext, asked: TableRequest) -> Tables:
    """Return tables of measured and imported results.

    Of long lines they show what :func:`newest_revisions` chooses, unless ``every`` revision is
    asked for. Raises UserError for an unknown layout, line or metric, and if there is no data.
    """
    layout, line, base, metric = asked.layout, asked.line, asked.base, asked.metric
    if asked.absolute and layout in ("", "relative"):
        layout = "absolute"
    _check(layout, metric)
    lines, left_out = _lines(context, asked)
    if base and not line:
        # A base belongs to some lines; the others are shown without it.
        lines = [found for found in lines if _has(found, base)] or lines
    options = TableOptions(context.config.report, base=base, metric=metric, decimals=asked.decimals)
    grids = [grid for subjects in lines for grid in make_grids(subjects, options, layout)]
    if not grids:
        raise UserError(_nothing(layout, metric))
    shown = [grid for grid in grids if grid.base is None] if asked.absolute else grids
    if not shown:
        raise UserError(f"the layout {layout} has only relative values; leave --absolute out")
    return Tables(shown, left_out)


def _check(layout: str, metric: str) -> None:
    """Refuse a layout that does not exist, or a metric that the layout cannot show."""
    if layout and layout not in LAYOUTS:
        raise UserError(f"there is no layout {layout!r}; {did_you_mean(layout, LAYOUTS)}")
    if layout and metric and not LAYOUTS[layout].any_metric:
        raise UserError(f"the layout {layout} has metrics of its own; leave --metric out")


def _lines(
    context: PlanningContext, asked: TableRequest
) -> tuple[list[list[MeasuredSubject]], dict[str, int]]:
    """Return the results of one or all lines, and how many revisions are left out."""
    line = asked.line
    imported = {each.name: each for each in imported_lines(context.store)}
    plan = Plan(lines=(imported[line],), repetitions=1) if line in imported else context.plan()
    names = [planned.name for planned in plan.lines]
    if line and line not in names:
        raise UserError(f"there is no line {line!r}; {did_you_mean(line, names)}")
    measured = measured_cells(context.store)
    found, left_out = [], {}
    for planned in plan.lines:
        if line in ("", planned.name):
            # A base that is no label is the published name of one: all are needed to find it.
            whole = asked.every or (asked.base and asked.base not in planned.positions)
            short, others = (
                (planned, 0) if whole else newest_revisions(planned, measured, base=asked.base)
            )
            found.append(measured_subjects(context.store, short))
            if others:
                left_out[planned.name] = others
    if not any(found):
        raise UserError("no run of this plan is in the store yet; run `nightshift nightly`")
    return found, left_out


def _has(subjects: list[MeasuredSubject], base: str) -> bool:
    return any(
        base in (column.label, column.name) for subject in subjects for column in subject.columns
    )


def _nothing(layout: str, metric: str) -> str:
    if metric and metric not in METRICS:
        return f"no run has the metric {metric!r}; {did_you_mean(metric, METRICS)}"
    needed = LAYOUTS[layout or "relative"].needs
    return f"no data for the layout {layout or 'relative'}: it needs {needed}"
