"""Write a table as CSV or TSV."""

from __future__ import annotations

import csv
import io
from functools import partial

from pipeline.report.grid import SLA_SIGN, Grid, TableCell

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet parse a cell as a formula."""


def as_delimited(grid: Grid, delimiter: str) -> str:
    """Return a table as CSV or TSV with exact values, after some lines of comments.

    The first columns identify the row. A section with other headings begins with an empty line and
    a new row of headings. The value of a step that failed its SLA is left empty, because it must
    not enter computations; the notes report it. An absolute table of steps by revisions can be
    imported again.
    """
    out = io.StringIO()
    out.write(_comments(grid))
    writer = csv.writer(out, lineterminator="\n", delimiter=delimiter)
    above: tuple[str, ...] = ()
    # A single section may have nothing to identify it.
    named = any(section.of for section in grid.sections)
    for section in grid.sections:
        if section.heads != above:
            out.write("\n" if above else "")
            heads = map(_text, section.heads)
            writer.writerow([grid.rows_are, *[grid.sections_are] * named, *heads])
            above = section.heads
        for row in section.rows:
            values = (_exact(cell, grid.decimals) for cell in row.cells)
            writer.writerow([_text(row.name), *[_text(section.of)] * named, *values])
    return out.getvalue()


as_csv = partial(as_delimited, delimiter=",")
as_tsv = partial(as_delimited, delimiter="\t")


def _comments(grid: Grid) -> str:
    lines = [("title", grid.title)]
    if grid.metric:
        lines.append(("metric", grid.metric))
        lines.append(("kind", "absolute" if grid.base is None else "relative"))
    else:
        lines.append(("values", grid.what))
    if grid.base is not None:
        lines.append(("base", grid.base.name))
    lines += _targets(grid)
    lines += [("note", note) for note in grid.notes]
    return "".join(f"# {key}: {' '.join(text.split())}\n" for key, text in lines)


def _targets(grid: Grid) -> list[tuple[str, str]]:
    """Return the DBMS of each column, in the form that `nightshift import` reads."""
    targets = {column.name: column.target for column in grid.columns if column.target}
    if len(set(targets.values())) > 1:
        pairs = "; ".join(f"{name}={target}" for name, target in targets.items())
        return [("column-targets", pairs)]
    return [("target", target) for target in set(targets.values())]


def _text(name: str) -> str:
    """Return a name in a form that no spreadsheet takes for a formula."""
    return f"'{name}" if name.startswith(_FORMULA) else name


def _exact(cell: TableCell, decimals: int | None) -> str:
    if cell.value is None or SLA_SIGN in cell.signs:
        return ""
    return repr(cell.value) if decimals is None else cell.text
