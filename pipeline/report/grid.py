"""A table as it is printed: what layouts make and renderers write."""

from __future__ import annotations

from typing import Literal

from pipeline.config import Colour
from pipeline.metrics import METRICS
from pipeline.model import Frozen
from pipeline.report.relative import Column

MISSING = "-"
"""Stands where a step was not measured or failed; never a number."""

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
    ``notes`` are the footnotes.
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

    @property
    def heading(self) -> str:
        """The line over the table: what it is of, and its metric with the unit."""
        known = METRICS.get(self.metric)
        unit = f" ({known.unit})" if known is not None else ""
        return f"{self.title}: {self.what or self.metric + unit}"
