"""Tables of one step each: a row for each revision, a column for each metric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pipeline.model.metrics import METRICS
from pipeline.report.cells import published_cell, ratio_cell
from pipeline.report.grid import Grid, GridRow, TableCell, TableSection
from pipeline.report.layouts.base import TableOptions
from pipeline.report.relative import position_of, ratio
from pipeline.report.tables import MeasuredSubject


class Head(NamedTuple):
    """A column of a table: its heading, and the metrics it can show.

    Without ``decimals``, the metric's published decimals apply. ``help`` explains the heading; by
    default the metric's description does.
    """

    text: str
    metrics: tuple[str, ...]
    decimals: int | None = None
    scale: float = 1.0
    help: str = ""


Block = tuple[Head, ...]
"""The columns of one table of a step."""


def head(metric: str, decimals: int | None = None) -> Head:
    """Return the table column of a metric, with the metric's name as heading."""
    return Head(metric, (metric,), decimals)


class Figures:
    """The values to show in tables of one step each, by step and column."""

    def __init__(self, subject: MeasuredSubject, blocks: Sequence[Block]) -> None:
        heads = [head for block in blocks for head in block]
        metrics = dict.fromkeys(metric for head in heads for metric in head.metrics)
        self._subject = subject
        tables = subject.tables(list(metrics))
        self._values = {name: table.by_step() for name, table in tables.items()}

    def steps(self) -> list[str]:
        """Return the steps that have a value, in order."""
        with_most = sorted(self._values.values(), key=len, reverse=True)
        return self._subject.in_order(
            dict.fromkeys(step for values in with_most for step in values)
        )

    def value(self, head: Head, step: str, at: int) -> float | None:
        """Return the value of a step in a column."""
        for metric in head.metrics:
            values = self._values[metric].get(step)
            if values is not None and (value := values[at]) is not None:
                return value * head.scale
        return None


def block_grid(
    subject: MeasuredSubject,
    blocks: Sequence[Block],
    what: str,
    options: TableOptions,
    relative: bool,
) -> Grid | None:
    """Return a table for every step, absolute or relative to the base.

    Columns without figures for a step are left out; the result is None without any figures. Raises
    UserError for an unknown base.
    """
    figures = Figures(subject, blocks)
    at = position_of(subject.title, subject.columns, options.base)
    sections: list[TableSection] = []
    for step in figures.steps():
        title = step
        for block in blocks:
            shown = [
                head
                for head in block
                if any(
                    figures.value(head, step, n) is not None for n in range(len(subject.columns))
                )
            ]
            if not shown:
                continue
            rows = [
                GridRow(
                    name=column.name,
                    cells=tuple(
                        _cell(subject, figures, head, step, n, at if relative else None, options)
                        for head in shown
                    ),
                )
                for n, column in enumerate(subject.columns)
            ]
            sections.append(
                TableSection(
                    of=step,
                    title=title,
                    stub="dbms",
                    heads=tuple(head.text for head in shown),
                    rows=tuple(rows),
                )
            )
            title = ""
    if not sections:
        return None
    return Grid(
        title=subject.title,
        metric="",
        what=what,
        base=subject.columns[at] if relative else None,
        columns=subject.columns,
        sections=tuple(sections),
        rows_are="dbms",
        sections_are="step",
        names="last",
        legend=_legend(blocks, sections),
        notes=subject.notes(),
        decimals=options.decimals,
    )


def explained_once(grids: Iterable[Grid | None]) -> list[Grid]:
    """Return the tables that exist; only the first of them explains its headings."""
    found = [grid for grid in grids if grid is not None]
    return found[:1] + [grid.model_copy(update={"legend": ()}) for grid in found[1:]]


def _cell(
    subject: MeasuredSubject,
    figures: Figures,
    head: Head,
    step: str,
    at: int,
    base: int | None,
    options: TableOptions,
) -> TableCell:
    value = figures.value(head, step, at)
    labels = [subject.columns[at].label]
    metric = head.metrics[0]
    if base is None:
        decimals = head.decimals if options.decimals is None else options.decimals
        return published_cell(metric, value, decimals, subject.signs(step, *labels))
    labels.append(subject.columns[base].label)
    return ratio_cell(
        metric,
        ratio(value, figures.value(head, step, base)),
        options.settings,
        options.decimals,
        subject.signs(step, *labels),
    )


def _legend(
    blocks: Sequence[Block], sections: Sequence[TableSection]
) -> tuple[tuple[str, str], ...]:
    """Return the explanation of the headings that the table shows."""
    shown = {text for section in sections for text in section.heads}
    heads = [head for block in blocks for head in block if head.text in shown]
    return tuple((head.text, _explained(head)) for head in heads)


def _explained(head: Head) -> str:
    # The last of several metrics is our own; the first may be a published name.
    return head.help or METRICS[head.metrics[-1]].help
