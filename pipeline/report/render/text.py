"""Write a table as text, as in the published reports."""

from __future__ import annotations

from rich.text import Text

from pipeline.config import COLOURS
from pipeline.report.grid import Grid, GridRow, TableSection

_NARROWEST = 8
"""Minimum width of a column in characters, as in the published reports."""

_GAP = 2
"""Minimum number of blanks between a wider column and the next."""


def as_text(grid: Grid) -> Text:
    """Return a table as text: heading, legend, rows, footnotes.

    All columns of a section have the same width, as have those of sections with the same headings;
    a terminal wraps wider lines.
    """
    text = Text()
    text.append(f"{grid.heading}\n", style="bold")
    if grid.base is not None:
        text.append(f"Relative to: {grid.base.name}\n")
    for head, meaning in grid.explained:
        text.append(f"{head} : {meaning}\n")
    names = [row.name for section in grid.sections for row in section.rows]
    names += [section.stub for section in grid.sections]
    name_width = max((len(name) for name in names), default=0) + _GAP
    for section in grid.sections:
        text.append("\n")
        if section.title:
            text.append(f"{section.title}\n", style="bold")
        width = _width(grid, section.heads)
        heads = "".join(head.ljust(width) for head in grid.heads(section))
        if grid.names == "first":
            text.append(f"{section.stub.ljust(name_width)}{heads}".rstrip() + "\n")
        else:
            text.append(heads if section.stub else heads.rstrip())
            text.append(f"{section.stub}\n", style="bold")
        for row in section.rows:
            if grid.names == "first":
                text.append(row.name.ljust(name_width))
            _cells(text, row, width)
            if grid.names == "last":
                text.append(row.name)
            else:
                text.rstrip()
            text.append("\n")
    if grid.notes:
        text.append("\n" + "".join(f"{note}\n" for note in grid.notes))
    return text


def _cells(text: Text, row: GridRow, width: int) -> None:
    for cell in row.cells:
        style = COLOURS[cell.colour].terminal if cell.colour else ""
        text.append((cell.text + cell.signs).ljust(width), style=style)


def _width(grid: Grid, heads: tuple[str, ...]) -> int:
    alike = [section for section in grid.sections if section.heads == heads]
    texts = [text for section in alike for text in (*grid.heads(section), *_texts(section))]
    return max([_NARROWEST, *(len(text) + _GAP for text in texts)])


def _texts(section: TableSection) -> list[str]:
    return [cell.text + cell.signs for row in section.rows for cell in row.cells]
