"""The layout "averages": hardware activity per second, a section for each revision."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.report.cells import PUBLISHED_DECIMALS, published_cell
from pipeline.report.grid import Grid, GridRow, TableSection
from pipeline.report.layouts.base import TableOptions
from pipeline.report.layouts.blocks import Figures, head
from pipeline.report.tables import MeasuredSubject

METRICS = ("r/s", "rMB/s", "w/s", "wMB/s", "cs/s", "cpu/s", "steal")
"""The columns for a measured line; for an imported line, its metrics are the columns."""


def averages(subjects: Sequence[MeasuredSubject], options: TableOptions) -> list[Grid]:
    """Return the tables of hardware activity: a row for each step, a column for each metric."""
    return [grid for subject in subjects if (grid := _grid(subject, options)) is not None]


def _place(metric: str) -> int:
    """Return the sort key of an imported metric: its published place, unknown metrics last."""
    published = list(PUBLISHED_DECIMALS)
    return published.index(metric) if metric in published else len(published)


def _grid(subject: MeasuredSubject, options: TableOptions) -> Grid | None:
    heads = [head(metric) for metric in sorted(subject.metrics, key=_place) or METRICS]
    figures = Figures(subject, [tuple(heads)])
    steps, places = figures.steps(), range(len(subject.columns))
    shown = [
        each
        for each in heads
        if any(figures.value(each, step, at) is not None for step in steps for at in places)
    ]
    if not shown:
        return None
    return Grid(
        title=subject.title,
        metric="",
        what="averages",
        base=subject.base,
        columns=subject.columns,
        sections=tuple(
            TableSection(
                of=column.name,
                title=column.name,
                heads=tuple(each.text for each in shown),
                rows=tuple(
                    GridRow(
                        name=step,
                        cells=tuple(
                            published_cell(
                                each.text,
                                figures.value(each, step, at),
                                options.decimals,
                                subject.signs(step, column.label),
                            )
                            for each in shown
                        ),
                    )
                    for step in steps
                ),
            )
            for at, column in enumerate(subject.columns)
        ),
        rows_are="step",
        sections_are="dbms",
        names="last",
        notes=subject.notes(),
        decimals=options.decimals,
    )
