"""Make tables of results in the published layouts."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from pipeline.config import TableSetup
from pipeline.experiments.table_columns import ChosenColumn, chosen_columns, plan_of_table
from pipeline.measure.plan import Line, Plan
from pipeline.model.metrics import METRICS
from pipeline.report.grid import Grid
from pipeline.report.layouts import LAYOUTS, make_grids
from pipeline.report.layouts.base import TableOptions
from pipeline.report.tables import (
    MeasuredSubject,
    chosen_subjects,
    measured_subjects,
    newest_revisions,
)
from pipeline.storage.imported_lines import imported_lines
from pipeline.storage.runs import measured_cells
from pipeline.text.errors import UserError, did_you_mean
from pipeline.use_cases.planning import PlanningContext

_LOG = logging.getLogger(__name__)


class TableRequest(NamedTuple):
    """Which tables to make; empty fields mean the defaults of the layout.

    ``chosen`` is the name of a table of the configuration, or columns as ``target:version[@build
    options][+config]``; empty for the tables of lines. With ``absolute``, only tables of absolute
    values are made; with ``every``, they have all revisions of long lines.
    """

    layout: str = ""
    base: str = ""
    line: str = ""
    metric: str = ""
    decimals: int | None = None
    absolute: bool = False
    every: bool = False
    chosen: Sequence[str] = ()


class Tables(NamedTuple):
    """The tables that were made, and what is missing in them.

    ``left_out`` is the number of revisions that are left out, by line. ``missing`` are the columns
    of a chosen table that lack results.
    """

    grids: list[Grid]
    left_out: Mapping[str, int]
    missing: tuple[str, ...] = ()


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

    Tables of long lines show the revisions that :func:`newest_revisions` chooses, unless ``every``
    revision is requested. Raises UserError for an unknown layout, line or metric, and if there is
    no data.
    """
    if asked.chosen:
        return _chosen(context, asked)
    line, base, metric = asked.line, asked.base, asked.metric
    layout = _layout(asked)
    _check(layout, metric)
    lines, left_out = _lines(context, asked)
    if base and not line:
        # A base belongs to some lines; the others are shown without it.
        lines = [found for found in lines if _has(found, base)] or lines
    options = TableOptions(context.config.report, base=base, metric=metric, decimals=asked.decimals)
    grids = [grid for subjects in lines for grid in make_grids(subjects, options, layout)]
    if not grids:
        raise UserError(_nothing(layout, metric))
    return Tables(_shown(grids, layout, asked.absolute), left_out)


def table_plan(context: PlanningContext, name: str) -> Plan:
    """Return the plan that measures a configured table. Raises UserError for an unknown name."""
    setup = configured_table(context, name)
    return plan_of_table(name, columns_of_table(context, setup), context.config.night.repetitions)


def grids_of_table(context: PlanningContext, setup: TableSetup, asked: TableRequest) -> Tables:
    """Return the tables of a configured table's columns; ``asked`` overrides ``setup``."""
    columns = columns_of_table(context, setup)
    layout = _layout(asked, setup.layout)
    metrics = (asked.metric,) if asked.metric else setup.metrics or ("",)
    for metric in metrics:
        _check(layout, metric)
    subjects = chosen_subjects(context.store, setup.title or setup.name, columns, setup.groups)
    base = asked.base or setup.base or setup.columns[0]
    # A workload without results of the base still shows the other columns, absolute.
    unbased = [one for one in subjects if base in setup.columns and not _has([one], base)]
    based = [one for one in subjects if one not in unbased]
    options = [
        TableOptions(context.config.report, base=base, metric=metric, decimals=asked.decimals)
        for metric in metrics
    ]
    grids = [
        grid
        for each in options
        for some, chosen in ((based, layout), (unbased, layout or "absolute"))
        for grid in make_grids(some, each, chosen)
    ]
    measured = measured_cells(context.store)
    return Tables(
        _shown(grids, layout, asked.absolute),
        {},
        tuple(column.label for column in columns if _lacks(column, measured)),
    )


def all_chosen_tables(context: PlanningContext) -> dict[str, list[Grid]]:
    """Return the tables of the configuration that have results, by name.

    A table that cannot be read, for example because a source is unreachable, is left out with a
    warning.
    """
    found = {}
    for setup in context.config.table:
        try:
            grids = grids_of_table(context, setup, TableRequest()).grids
        except UserError as error:
            _LOG.warning(f"the table {setup.name} is left out: {error}")
            continue
        if grids:
            found[setup.name] = grids
    return found


def _chosen(context: PlanningContext, asked: TableRequest) -> Tables:
    if asked.line:
        raise UserError("--line and columns cannot be combined; leave one of them out")
    if len(asked.chosen) == 1 and ":" not in asked.chosen[0]:
        setup = configured_table(context, asked.chosen[0])
        advice = f"run `nightshift run --table {setup.name}`"
    else:
        if len(asked.chosen) < 2:
            raise UserError("a table needs at least two columns; give another target:version")
        setup = TableSetup(name="table", columns=tuple(asked.chosen))
        advice = (
            f"add a [[table]] with these columns to {context.file.path} and run `nightshift run "
            "--table NAME`"
        )
    tables = grids_of_table(context, setup, asked)
    if not tables.grids:
        raise UserError(f"no column of the table has results in this layout; {advice}")
    return tables


def configured_table(context: PlanningContext, name: str) -> TableSetup:
    """Return a [[table]] of the configuration. Raises UserError for an unknown name."""
    tables = {table.name: table for table in context.config.table}
    if name not in tables:
        raise UserError(
            f"{context.file.path} has no table {name!r}; {did_you_mean(name, tables)}; or give "
            "columns as target:version"
        )
    return tables[name]


def columns_of_table(context: PlanningContext, setup: TableSetup) -> tuple[ChosenColumn, ...]:
    """Return the columns of a configured table with their cells; see :func:`chosen_columns`."""
    return chosen_columns(
        context.file, setup, context.machines, context.quick, context.cache, context.results
    )


def _layout(asked: TableRequest, usual: str = "") -> str:
    """Return the requested or else the usual layout; --absolute replaces relative by absolute."""
    layout = asked.layout or usual
    return "absolute" if asked.absolute and layout in ("", "relative") else layout


def _lacks(column: ChosenColumn, measured: Mapping[tuple[str, str], Collection[str]]) -> bool:
    """Return whether a cell of a column has no run; ``measured`` is from :func:`measured_cells`."""
    return any(
        cell.key not in measured.get((cell.revision.target, cell.revision.label), ())
        for cell in column.cells
    )


def _shown(grids: list[Grid], layout: str, absolute: bool) -> list[Grid]:
    shown = [grid for grid in grids if grid.base is None] if absolute else grids
    if grids and not shown:
        raise UserError(f"the layout {layout} has only relative values; leave --absolute out")
    return shown


def _check(layout: str, metric: str) -> None:
    """Raise UserError for a layout that does not exist, or a metric that the layout cannot show."""
    if layout and layout not in LAYOUTS:
        raise UserError(f"there is no layout {layout!r}; {did_you_mean(layout, LAYOUTS)}")
    if layout and metric and not LAYOUTS[layout].any_metric:
        raise UserError(f"the layout {layout} always shows the same metrics; leave --metric out")


def _lines(
    context: PlanningContext, asked: TableRequest
) -> tuple[list[list[MeasuredSubject]], dict[str, int]]:
    """Return the results of one or all lines, and the number of omitted revisions of each."""
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
