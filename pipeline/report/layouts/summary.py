"""The layout of the statistics: how the relative values of a group are spread."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from pipeline.report.cells import ratio_cell, value_cell
from pipeline.report.grid import SLA_SIGN, Cell, Grid, GridRow, Section
from pipeline.report.layouts.base import THROUGHPUT, Wish
from pipeline.report.layouts.relative import relative_table
from pipeline.report.relative import Column, Table
from pipeline.report.tables import Subject

_DECIMALS = 2


def _deviation(values: Sequence[float]) -> float | None:
    """Return the sample's standard deviation, as spreadsheets have it; one value has none."""
    return statistics.stdev(values) if len(values) > 1 else None


STATISTICS: Mapping[str, Callable[[Sequence[float]], float | None]] = {
    "min": min,
    "max": max,
    "avg": statistics.fmean,
    "median": statistics.median,
    "stdev": _deviation,
}
"""The published columns."""


def summary(subjects: Sequence[Subject], wish: Wish) -> list[Grid]:
    """Return a grid for each subject: a section for each revision, a row for each group.

    Of an imported line that holds the statistics they are taken as they are.
    """
    grids = []
    for subject in subjects:
        if set(STATISTICS) <= set(subject.metrics):
            grids.append(_published(subject, wish))
            continue
        table = relative_table(subject, subject.table(wish.metric or THROUGHPUT), wish.base)
        if table.base is not None and table.groups:
            sections = tuple(
                _section(column, _rows(subject, table, at, wish))
                for at, column in enumerate(table.columns)
            )
            grids.append(_grid(subject, table.base, table.columns, sections, table.metric, wish))
    return grids


def _rows(subject: Subject, table: Table, at: int, wish: Wish) -> list[GridRow]:
    rows = []
    base = table.base.label if table.base else ""
    label = table.columns[at].label
    for group in table.groups:
        signs = {row.step: subject.signs(row.step, label, base) for row in group.rows}
        # What failed its SLA is not averaged with what did not.
        values = [
            value
            for row in group.rows
            if (value := row.values[at]) is not None and SLA_SIGN not in signs[row.step]
        ]
        found = {name: of(values) if values else None for name, of in STATISTICS.items()}
        cells = _cells(table.metric, found, wish, _united(signs))
        rows.append(GridRow(name=group.name, cells=cells))
    return rows


def _united(signs: Mapping[str, str]) -> str:
    """Return the signs of a group: a figure in doubt puts its group in doubt."""
    return "".join(sorted(set("".join(signs.values()))))


def _published(subject: Subject, wish: Wish) -> Grid:
    tables = subject.tables(list(STATISTICS))
    sections = []
    for at, column in enumerate(subject.columns):
        found: dict[str, dict[str, float | None]] = {}
        for name, table in tables.items():
            for group in table.groups:
                for row in group.rows:
                    found.setdefault(row.step, {})[name] = row.values[at]
        rows = [
            GridRow(name=step, cells=_cells(THROUGHPUT, values, wish))
            for step, values in found.items()
        ]
        sections.append(_section(column, rows))
    return _grid(subject, subject.base, subject.columns, sections, THROUGHPUT, wish)


def _cells(
    metric: str, found: Mapping[str, float | None], wish: Wish, signs: str = ""
) -> tuple[Cell, ...]:
    """Return the statistics; a deviation is no ratio, and has no colour."""
    decimals = _DECIMALS if wish.decimals is None else wish.decimals
    return tuple(
        value_cell(found.get(name), decimals)
        if name == "stdev"
        else ratio_cell(metric, found.get(name), wish.settings, decimals, signs)
        for name in STATISTICS
    )


def _section(column: Column, rows: Sequence[GridRow]) -> Section:
    return Section(of=column.name, title=column.name, heads=tuple(STATISTICS), rows=tuple(rows))


def _grid(
    subject: Subject,
    base: Column | None,
    columns: Sequence[Column],
    sections: Sequence[Section],
    metric: str,
    wish: Wish,
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
        decimals=wish.decimals,
    )
