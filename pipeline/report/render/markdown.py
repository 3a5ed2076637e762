"""Write a table as markdown."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.report.grid import Grid, TableCell, Tone
from pipeline.text.markdown import cell as inside

_MARKS: dict[Tone, str] = {"worse": "**", "better": "*", "": ""}


def as_markdown(grid: Grid) -> str:
    """Return a table as markdown: worse values bold, better ones in italics."""
    lines = [f"### {inside(grid.heading)}", ""]
    if grid.base is not None:
        lines += [f"Relative to: {inside(grid.base.name)}", ""]
    lines += [f"- {inside(head)}: {inside(meaning)}" for head, meaning in grid.explained]
    for section in grid.sections:
        if section.title:
            lines += ["", f"#### {inside(section.title)}"]
        heads = [inside(head) for head in grid.heads(section)]
        rule = ["---:"] * len(heads)
        lines += ["", _line(grid, inside(section.stub), heads), _line(grid, ":---", rule)]
        lines += [
            _line(grid, inside(row.name), list(map(_cell, row.cells))) for row in section.rows
        ]
    if grid.notes:
        lines += ["", *(f"- {inside(note)}" for note in grid.notes)]
    return "\n".join([*lines, ""])


def _line(grid: Grid, name: str, cells: Sequence[str]) -> str:
    ordered = [name, *cells] if grid.names == "first" else [*cells, name]
    return f"| {' | '.join(ordered)} |"


def _cell(cell: TableCell) -> str:
    mark = _MARKS[cell.tone]
    # A sign would be parsed as the end of the emphasis.
    return f"{mark}{cell.text}{mark}" + "".join(f"\\{sign}" for sign in cell.signs)
