"""Layouts with one metric: a row for each step, a column for each revision."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.report.cells import ratio_cell, value_cell
from pipeline.report.grid import Grid, GridRow, TableCell, TableSection
from pipeline.report.layouts.base import TableOptions, usual_metric
from pipeline.report.relative import Table, compared
from pipeline.report.tables import MeasuredSubject


def relative(subjects: Sequence[MeasuredSubject], options: TableOptions) -> list[Grid]:
    """Return tables of a metric relative to a base revision.

    A line with one revision has nothing to compare with and stays absolute.
    """
    return [
        _grid(subject, relative_table(subject, table, options.base), options)
        for subject in subjects
        for metric in _metrics(subject, options)
        if (table := subject.table(metric)).groups
    ]


def absolute(subjects: Sequence[MeasuredSubject], options: TableOptions) -> list[Grid]:
    """Return tables of the absolute values of a metric."""
    return [
        _grid(subject, table, options)
        for subject in subjects
        for metric in _metrics(subject, options)
        if subject.base is None and (table := subject.table(metric)).groups
    ]


def relative_table(subject: MeasuredSubject, table: Table, base: str) -> Table:
    """Return a table relative to a base revision: computed, or as it was published."""
    if subject.base is None or base:
        return compared(table, base)
    if subject.base in table.columns:
        return compared(table, subject.base.name)
    return table.model_copy(update={"base": subject.base})


def _metrics(subject: MeasuredSubject, options: TableOptions) -> tuple[str, ...]:
    """Return which metrics to show: the requested one, or all imported ones."""
    return (options.metric,) if options.metric else subject.metrics or (usual_metric(subject),)


def _grid(subject: MeasuredSubject, table: Table, options: TableOptions) -> Grid:
    return Grid(
        title=table.title,
        metric=table.metric,
        base=table.base,
        columns=table.columns,
        sections=tuple(
            TableSection(
                of=group.name,
                stub=group.name,
                heads=tuple(column.name for column in table.columns),
                rows=tuple(
                    GridRow(
                        name=row.step, cells=_cells(subject, table, row.step, row.values, options)
                    )
                    for row in group.rows
                ),
            )
            for group in table.groups
        ),
        rows_are="step",
        sections_are="group",
        names="last",
        notes=subject.notes(),
        numbered=True,
        decimals=options.decimals,
    )


def _cells(
    subject: MeasuredSubject,
    table: Table,
    step: str,
    values: Sequence[float | None],
    options: TableOptions,
) -> tuple[TableCell, ...]:
    cells = []
    for column, value in zip(table.columns, values, strict=True):
        if table.base is None:
            signs = subject.signs(step, column.label)
            cells.append(value_cell(value, options.decimals, signs))
        else:
            # A ratio to a doubtful base is doubtful, too.
            signs = subject.signs(step, column.label, table.base.label)
            cells.append(ratio_cell(table.metric, value, options.settings, options.decimals, signs))
    return tuple(cells)
