"""A table as it is printed: what layouts make and renderers write."""

from __future__ import annotations

from typing import Literal

from pipeline.config import Colour
from pipeline.metrics import METRICS
from pipeline.model import Frozen
from pipeline.report.relative import Column

MISSING = "-"
"""Stands where a step was not measured or failed; never a number."""

SLA_SIGN = "!"
"""Stands at a figure of a step that did not sustain the rate of its work in the background."""

MARK_SIGN = "*"
"""Stands at a figure of a step that was marked: still warming, drifting."""

MISSED_SIGN = "<"
"""Stands at a rate that was achieved by less than its target."""

Tone = Literal["", "worse", "better"]
"""Whether a value is remarkable, and which way."""

Kind = Literal["step", "group", "dbms"]
"""What rows and sections are of. A dbms is a revision with its build options and config."""


class Cell(Frozen):
    """One value: as a number, as it is shown, in its colour, with the signs of its footnotes."""

    value: float | None
    text: str
    tone: Tone = ""
    colour: Colour | Literal[""] = ""
    signs: str = ""


class GridRow(Frozen):
    """One row: its name, and a cell under each head."""

    name: str
    cells: tuple[Cell, ...]


class Section(Frozen):
    """Rows under one row of heads.

    ``of`` is what the rows have in common: their group, step or dbms. ``title`` is the line
    above the heads and ``stub`` the head over the rows' names; either may be empty.
    """

    of: str
    heads: tuple[str, ...]
    rows: tuple[GridRow, ...]
    title: str = ""
    stub: str = ""


class Grid(Frozen):
    """A printed table.

    ``metric`` is that of all values; empty where they differ in it, and ``what`` says then what
    they are. ``base`` is what values were divided by, None for absolute ones. ``columns`` are
    the revisions in it, wherever they stand. ``rows_are`` and ``sections_are`` say of what the
    rows and sections are, ``names`` where the rows' names stand. ``legend`` explains heads,
    ``notes`` are the footnotes. Heads that are ``numbered`` are too long to stand over their
    columns; col-N stands for them. ``decimals`` are those that were asked for.
    """

    title: str
    metric: str
    base: Column | None
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    rows_are: Kind
    sections_are: Kind
    names: Literal["first", "last"]
    what: str = ""
    legend: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    numbered: bool = False
    decimals: int | None = None

    def heads(self, section: Section) -> tuple[str, ...]:
        """Return the heads of a section as they stand over its columns."""
        if not self.numbered:
            return section.heads
        return tuple(f"col-{number}" for number in range(1, len(section.heads) + 1))

    @property
    def explained(self) -> tuple[tuple[str, str], ...]:
        """What stands for what: the legend, and the heads that are numbered."""
        if not self.numbered or not self.sections:
            return self.legend
        first = self.sections[0]
        return (*zip(self.heads(first), first.heads, strict=True), *self.legend)

    @property
    def heading(self) -> str:
        """The line over the table: what it is of, and its metric with the unit."""
        known = METRICS.get(self.metric)
        unit = f" ({known.unit})" if known is not None else ""
        return f"{self.title}: {self.what or self.metric + unit}"
