"""The layout of statistics: minimum, median, maximum and so on of a group of steps."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from pipeline.report.cells import ratio_cell, value_cell
from pipeline.report.grid import SLA_SIGN, Grid, GridRow, TableCell, TableSection
from pipeline.report.layouts.base import THROUGHPUT, TableOptions, usual_metric
from pipeline.report.layouts.relative import relative_table
from pipeline.report.relative import Column, Table
from pipeline.report.tables import MeasuredSubject

_DECIMALS = 2


def _deviation(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation; None for a single value."""
    return statistics.stdev(values) if len(values) > 1 else None


STATISTICS: Mapping[str, Callable[[Sequence[float]], float | None]] = {
    "min": min,
    "max": max,
    "avg": statistics.fmean,
    "median": statistics.median,
    "stdev": _deviation,
}
"""The columns of the table, as in the published reports: names and functions."""


def summary(subjects: Sequence[MeasuredSubject], options: TableOptions) -> list[Grid]:
    """Return tables of statistics: a section for each revision, a row for each group of steps.

    The statistics of an imported line are copied if it has them.
    """
    grids = []
    for subject in subjects:
        if set(STATISTICS) <= set(subject.metrics):
            grids.append(_published(subject, options))
            continue
        table = relative_table(
            subject, subject.table(options.metric or usual_metric(subject)), options.base
        )
        if table.base is not None and table.groups:
            sections = tuple(
                _section(column, _rows(subject, table, at, options))
                for at, column in enumerate(table.columns)
            )
            grids.append(_grid(subject, table.base, table.columns, sections, table.metric, options))
    return grids


def _rows(subject: MeasuredSubject, table: Table, at: int, options: TableOptions) -> list[GridRow]:
    rows = []
    base = table.base.label if table.base else ""
    label = table.columns[at].label
    for group in table.groups:
        signs = {row.step: subject.signs(row.step, label, base) for row in group.rows}
        # Steps that failed their SLA are not averaged with the others.
        values = [
            value
            for row in group.rows
            if (value := row.values[at]) is not None and SLA_SIGN not in signs[row.step]
        ]
        found = {name: of(values) if values else None for name, of in STATISTICS.items()}
        cells = _cells(table.metric, found, options, _united(signs))
        rows.append(GridRow(name=group.name, cells=cells))
    return rows


def _united(signs: Mapping[str, str]) -> str:
    """Return the footnote signs of a group of steps: those of all its values."""
    return "".join(sorted(set("".join(signs.values()))))


def _published(subject: MeasuredSubject, options: TableOptions) -> Grid:
    tables = subject.tables(list(STATISTICS))
    sections = []
    for at, column in enumerate(subject.columns):
        found: dict[str, dict[str, float | None]] = {}
        for name, table in tables.items():
            for group in table.groups:
                for row in group.rows:
                    found.setdefault(row.step, {})[name] = row.values[at]
        rows = [
            GridRow(name=step, cells=_cells(THROUGHPUT, values, options))
            for step, values in found.items()
        ]
        sections.append(_section(column, rows))
    return _grid(subject, subject.base, subject.columns, sections, THROUGHPUT, options)


def _cells(
    metric: str, found: Mapping[str, float | None], options: TableOptions, signs: str = ""
) -> tuple[TableCell, ...]:
    """Return the table cells of the statistics of a group of steps."""
    decimals = _DECIMALS if options.decimals is None else options.decimals
    return tuple(
        value_cell(found.get(name), decimals)
        if name == "stdev"
        else ratio_cell(metric, found.get(name), options.settings, decimals, signs)
        for name in STATISTICS
    )


def _section(column: Column, rows: Sequence[GridRow]) -> TableSection:
    return TableSection(
        of=column.name, title=column.name, heads=tuple(STATISTICS), rows=tuple(rows)
    )


def _grid(
    subject: MeasuredSubject,
    base: Column | None,
    columns: Sequence[Column],
    sections: Sequence[TableSection],
    metric: str,
    options: TableOptions,
) -> Grid:
    return Grid(
        title=subject.title,
        metric="",
        what=f"relative {metric} of the steps of each group",
        base=base,
        columns=tuple(columns),
        sections=tuple(sections),
        rows_are="group",
        sections_are="dbms",
        names="first",
        notes=subject.notes(),
        decimals=options.decimals,
    )
