"""One metric of several workloads, by revision and by what is compared: steps, or scales."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.report.cells import published_cell, ratio_cell
from pipeline.report.grid import Cell
from pipeline.report.layouts.base import Wish, position_of, ratio
from pipeline.report.relative import Column
from pipeline.report.tables import Subject

Place = tuple[str, str]
"""(part, column name)"""


@dataclass(frozen=True)
class Sheet:
    """Values of a metric by part (a step, or a scale) and by revision with its configuration.

    ``base`` is what the values are relative to, None for absolute ones.
    """

    metric: str
    parts: tuple[str, ...]
    columns: tuple[Column, ...]
    values: Mapping[Place, float]
    signs: Mapping[Place, str]
    base: Column | None

    def relative(self, title: str, base: str) -> Sheet:
        """Return every value over the base's of the same part.

        ``base`` is a label or name, empty for the first revision. Values that are relative stay
        so, unless a base is named. Raises UserError for an unknown one.
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

    def cell(self, place: Place, wish: Wish, ratio_decimals: int) -> Cell:
        """Return the cell of a value: with its published decimals, or as a relative one."""
        value, signs = self.values.get(place), self.signs.get(place, "")
        if self.base is None:
            return published_cell(self.metric, value, wish.decimals, signs)
        decimals = ratio_decimals if wish.decimals is None else wish.decimals
        return ratio_cell(self.metric, value, wish.settings, decimals, signs)


def sheet_of(
    subjects: Iterable[Subject], metric: str, part_of: Callable[[Subject, str], str]
) -> Sheet:
    """Return the values of a metric. ``part_of`` names the part that a step of a subject is."""
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


def notes_of(subjects: Sequence[Subject], part_of: Callable[[Subject], str]) -> tuple[str, ...]:
    """Return the footnotes of all subjects, each said of what ``part_of`` calls its subject."""
    return tuple(
        f"{note} ({part})" if (part := part_of(subject)) else note
        for subject in subjects
        for note in subject.notes()
    )
