"""Write a table as HTML, for a page with its own styles."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pipeline.config import COLOURS
from pipeline.report.grid import Grid, GridRow, TableCell, TableSection


def as_html(grid: Grid) -> str:
    """Return a table as an HTML figure with caption, legend and footnotes.

    All text is escaped, so templates may include the fragment unchanged. Cells have the class
    ``worse`` or ``better``, and ``colour-`` with the name of their colour, which
    :func:`colour_styles` defines.
    """
    base = f"<br>Relative to: {escape(grid.base.name)}" if grid.base is not None else ""
    parts = [
        '<figure class="grid">',
        f"<figcaption>{escape(grid.heading)}{base}</figcaption>",
    ]
    if grid.explained:
        entries = (
            f"<dt>{escape(head)}</dt><dd>{escape(text)}</dd>" for head, text in grid.explained
        )
        parts += ["<dl>", *entries, "</dl>"]
    parts += ["<table>", *(_section(grid, part) for part in grid.sections)]
    parts += ["</table>", *(f'<p class="note">{escape(note)}</p>' for note in grid.notes)]
    return "\n".join([*parts, "</figure>", ""])


def colour_styles() -> str:
    """Return the CSS for the colours of table cells."""
    return "".join(
        f".grid .colour-{name} {{ background: {look.paper}; color: #1b1f24; }}\n"
        for name, look in COLOURS.items()
    )


def _section(grid: Grid, section: TableSection) -> str:
    names_first = grid.names == "first"
    parts = ["<tbody>"]
    if section.title:
        width = len(section.heads) + 1
        title = escape(section.title)
        parts.append(_line([f'<th class="title" scope="rowgroup" colspan="{width}">{title}</th>']))
    heads = [f'<th scope="col">{escape(head)}</th>' for head in grid.heads(section)]
    stub = f'<th class="name" scope="col">{escape(section.stub)}</th>'
    # The corner of a table whose rows have no heading is no head.
    corner = stub if section.stub else "<td></td>"
    parts.append(_line([corner, *heads] if names_first else [*heads, corner]))
    parts += [_row(row, names_first) for row in section.rows]
    return "\n".join([*parts, "</tbody>"])


def _row(row: GridRow, names_first: bool) -> str:
    name = f'<th class="name" scope="row">{escape(row.name)}</th>'
    cells = [_cell(cell) for cell in row.cells]
    return _line([name, *cells] if names_first else [*cells, name])


def _line(cells: Sequence[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _cell(cell: TableCell) -> str:
    colour = f"colour-{cell.colour}" if cell.colour else ""
    classes = " ".join(filter(None, (cell.tone, colour)))
    chosen = f' class="{classes}"' if classes else ""
    signs = f"<sup>{escape(cell.signs)}</sup>" if cell.signs else ""
    return f"<td{chosen}>{escape(cell.text)}{signs}</td>"
