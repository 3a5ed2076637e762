"""One metric of several workloads in one table, by step or scale, revision and configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.report.cells import published_cell, ratio_cell
from pipeline.report.grid import TableCell
from pipeline.report.layouts.base import TableOptions
from pipeline.report.relative import Column, position_of, ratio
from pipeline.report.tables import MeasuredSubject

Place = tuple[str, str]
"""A cell of the sheet: (name of the row, name of the column)."""


@dataclass(frozen=True)
class Sheet:
    """The values of one metric, by step or scale and by revision with its configuration.

    ``base`` is the column that values are relative to, None for absolute values.
    """

    metric: str
    parts: tuple[str, ...]
    columns: tuple[Column, ...]
    values: Mapping[Place, float]
    signs: Mapping[Place, str]
    base: Column | None

    def relative(self, title: str, base: str) -> Sheet:
        """Return all values relative to the base revision's value in the same row.

        ``base`` is a label or name, empty for the first revision. A sheet of relative values is
        returned unchanged unless a base is named. Raises UserError for an unknown base.
        """
        if self.base is not None and not base:
            return self
        chosen = self.columns[position_of(title, self.columns, base)]
        ratios = {
            (part, name): found
            for (part, name), value in self.values.items()
            if (found := ratio(value, self.values.get((part, chosen.name)))) is not None
        }
        signs = {
            place: "".join(sorted(set(signs + self.signs.get((place[0], chosen.name), ""))))
            for place, signs in self.signs.items()
        }
        return replace(self, values=ratios, signs=signs, base=chosen)

    def cell(self, place: Place, options: TableOptions, ratio_decimals: int) -> TableCell:
        """Return the table cell of a value, absolute or relative."""
        value, signs = self.values.get(place), self.signs.get(place, "")
        if self.base is None:
            return published_cell(self.metric, value, options.decimals, signs)
        decimals = ratio_decimals if options.decimals is None else options.decimals
        return ratio_cell(self.metric, value, options.settings, decimals, signs)


def sheet_of(
    subjects: Iterable[MeasuredSubject], metric: str, part_of: Callable[[MeasuredSubject, str], str]
) -> Sheet:
    """Collect the values of one metric; ``part_of`` names the row of a step."""
    parts: dict[str, None] = {}
    columns: dict[str, Column] = {}
    values: dict[Place, float] = {}
    signs: dict[Place, str] = {}
    base: Column | None = None
    for subject in subjects:
        base = subject.base or base
        found = {row.step: row for group in subject.table(metric).groups for row in group.rows}
        for step in subject.in_order(found):
            part = part_of(subject, step)
            parts.setdefault(part)
            for column, value in zip(subject.columns, found[step].values, strict=True):
                columns.setdefault(column.name, column)
                signs[part, column.name] = subject.signs(step, column.label)
                if value is not None:
                    values[part, column.name] = value
    return Sheet(metric, tuple(parts), tuple(columns.values()), values, signs, base)


def notes_of(
    subjects: Sequence[MeasuredSubject], part_of: Callable[[MeasuredSubject], str]
) -> tuple[str, ...]:
    """Return the footnotes of all workloads, with the names of their rows."""
    return tuple(
        f"{note} ({part})" if (part := part_of(subject)) else note
        for subject in subjects
        for note in subject.notes()
    )
