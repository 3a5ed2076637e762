"""A table as it is printed: rows and cells, independent of the output format."""

from __future__ import annotations

from typing import Literal

from pipeline.config import Colour
from pipeline.model import Frozen
from pipeline.model.metrics import METRICS
from pipeline.report.relative import Column

MISSING = "-"
"""The text in place of a value if the step was not measured or failed."""

SLA_SIGN = "!"
"""Marks a figure of a step that did not sustain its background rate."""

MARK_SIGN = "*"
"""Marks a figure of a step that was not steady, for example still warming up."""

MISSED_SIGN = "<"
"""Marks an achieved rate below its target."""

Tone = Literal["", "worse", "better"]
"""Whether a value is worse, better or unremarkable."""

Kind = Literal["step", "group", "dbms"]
"""The kind of rows and sections. A dbms is a revision with its build options and config."""


class TableCell(Frozen):
    """One cell of a table: number, text, colour and footnote signs."""

    value: float | None
    text: str
    tone: Tone = ""
    colour: Colour | Literal[""] = ""
    signs: str = ""


class GridRow(Frozen):
    """One row of a table: its name, and its cells."""

    name: str
    cells: tuple[TableCell, ...]


class TableSection(Frozen):
    """The rows of a table below one row of headings.

    ``of`` names what the rows share: their group, step or dbms. ``heads`` are the headings of the
    columns. ``title`` is the line above the headings, and ``stub`` the heading of the column with
    the rows' names; either may be empty.
    """

    of: str
    heads: tuple[str, ...]
    rows: tuple[GridRow, ...]
    title: str = ""
    stub: str = ""


class Grid(Frozen):
    """A whole printed table: headings, rows, legend and footnotes.

    ``metric`` is the metric of all values; it is empty if they differ, and ``what`` then describes
    them. ``base`` is the column that values were divided by, None for absolute values. ``columns``
    are the revisions of the table, in rows or columns. ``rows_are`` and ``sections_are`` are the
    kinds of rows and sections. ``names`` says whether the rows' names are in the first or in the
    last column. ``legend`` explains headings, ``notes`` are the footnotes. With ``numbered``,
    headings are printed as col-N, and the legend explains them. ``decimals`` is the requested
    number of decimals.
    """

    title: str
    metric: str
    base: Column | None
    columns: tuple[Column, ...]
    sections: tuple[TableSection, ...]
    rows_are: Kind
    sections_are: Kind
    names: Literal["first", "last"]
    what: str = ""
    legend: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    numbered: bool = False
    decimals: int | None = None

    def heads(self, section: TableSection) -> tuple[str, ...]:
        """Return the headings of a section's columns as they are printed."""
        if not self.numbered:
            return section.heads
        return tuple(f"col-{number}" for number in range(1, len(section.heads) + 1))

    @property
    def explained(self) -> tuple[tuple[str, str], ...]:
        """The legend of the table, with the full text of numbered headings."""
        if not self.numbered or not self.sections:
            return self.legend
        first = self.sections[0]
        return (*zip(self.heads(first), first.heads, strict=True), *self.legend)

    @property
    def heading(self) -> str:
        """The heading of the table: title and metric with unit."""
        known = METRICS.get(self.metric)
        unit = f" ({known.unit})" if known is not None and known.unit else ""
        return f"{self.title}: {self.what or self.metric + unit}"
