"""Tables of one step each, with a column for each metric and a row for each revision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pipeline.metrics import METRICS
from pipeline.report.cells import published_cell, ratio_cell
from pipeline.report.grid import Cell, Grid, GridRow, Section
from pipeline.report.layouts.base import Wish, position_of, ratio
from pipeline.report.relative import Table
from pipeline.report.tables import Subject


class Head(NamedTuple):
    """A column: its head, the metrics that it shows (the first that a step has), their scale.

    Without ``decimals`` those that the metric is published with. ``help`` explains the head;
    where it is empty the metric's own words do.
    """

    text: str
    metrics: tuple[str, ...]
    decimals: int | None = None
    scale: float = 1.0
    help: str = ""


Block = tuple[Head, ...]
"""The columns of one table of a step."""


def head(metric: str, decimals: int | None = None) -> Head:
    """Return the column of a metric under its own name."""
    return Head(metric, (metric,), decimals)


class Figures:
    """The figures of a subject under the heads of blocks, by step and column."""

    def __init__(self, subject: Subject, blocks: Sequence[Block]) -> None:
        heads = [head for block in blocks for head in block]
        metrics = dict.fromkeys(metric for head in heads for metric in head.metrics)
        self._subject = subject
        tables = subject.tables(list(metrics))
        self._values = {name: _by_step(table) for name, table in tables.items()}

    def steps(self) -> list[str]:
        """Return the steps that have any of the metrics, in their order."""
        with_most = sorted(self._values.values(), key=len, reverse=True)
        return self._subject.in_order(
            dict.fromkeys(step for values in with_most for step in values)
        )

    def value(self, head: Head, step: str, at: int) -> float | None:
        """Return the figure of a step in the column at this place."""
        for metric in head.metrics:
            values = self._values[metric].get(step)
            if values is not None and (value := values[at]) is not None:
                return value * head.scale
        return None


def block_grid(
    subject: Subject, blocks: Sequence[Block], what: str, wish: Wish, relative: bool
) -> Grid | None:
    """Return the blocks of every step, absolute or relative to the base's row.

    Columns in which a step has no figure are left out, and None is returned where there are no
    figures at all. Raises UserError for an unknown base.
    """
    figures = Figures(subject, blocks)
    at = position_of(subject.title, subject.columns, wish.base)
    sections: list[Section] = []
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
                        _cell(subject, figures, head, step, n, at if relative else None, wish)
                        for head in shown
                    ),
                )
                for n, column in enumerate(subject.columns)
            ]
            sections.append(
                Section(
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
        decimals=wish.decimals,
    )


def explained_once(grids: Iterable[Grid | None]) -> list[Grid]:
    """Return the grids that there are; only the first of them explains its heads."""
    found = [grid for grid in grids if grid is not None]
    return found[:1] + [grid.model_copy(update={"legend": ()}) for grid in found[1:]]


def _cell(
    subject: Subject,
    figures: Figures,
    head: Head,
    step: str,
    at: int,
    base: int | None,
    wish: Wish,
) -> Cell:
    value = figures.value(head, step, at)
    labels = [subject.columns[at].label]
    metric = head.metrics[0]
    if base is None:
        decimals = head.decimals if wish.decimals is None else wish.decimals
        return published_cell(metric, value, decimals, subject.signs(step, *labels))
    labels.append(subject.columns[base].label)
    return ratio_cell(
        metric,
        ratio(value, figures.value(head, step, base)),
        wish.settings,
        wish.decimals,
        subject.signs(step, *labels),
    )


def _legend(blocks: Sequence[Block], sections: Sequence[Section]) -> tuple[tuple[str, str], ...]:
    """Explain the heads that are shown."""
    shown = {text for section in sections for text in section.heads}
    heads = [head for block in blocks for head in block if head.text in shown]
    return tuple((head.text, _explained(head)) for head in heads)


def _explained(head: Head) -> str:
    # Of several metrics the last is one of ours; the first may be a published name.
    return head.help or METRICS[head.metrics[-1]].help


def _by_step(table: Table) -> dict[str, tuple[float | None, ...]]:
    return {row.step: row.values for group in table.groups for row in group.rows}
