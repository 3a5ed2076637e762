"""Write a table as JSON."""

from __future__ import annotations

import json
from typing import Any

from pipeline.report.grid import Grid, GridRow


def as_json(grid: Grid) -> str:
    """Return a table as JSON with exact values; missing ones are null.

    A section is an element of ``groups``. A row's name is under its kind: ``step``, ``group`` or
    ``dbms``. Rows with footnotes have the signs of the footnotes next to the values.
    """
    value = {
        "title": grid.title,
        "metric": grid.metric,
        "what": grid.what,
        "base": grid.base.model_dump() if grid.base is not None else None,
        "columns": [column.model_dump() for column in grid.columns],
        "legend": dict(grid.legend),
        "groups": [
            {
                "name": section.of,
                "heads": section.heads,
                "rows": [_row(grid, row) for row in section.rows],
            }
            for section in grid.sections
        ],
        "notes": grid.notes,
    }
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _row(grid: Grid, row: GridRow) -> dict[str, Any]:
    found: dict[str, Any] = {
        grid.rows_are: row.name,
        "values": [cell.value for cell in row.cells],
    }
    if any(cell.signs for cell in row.cells):
        found["signs"] = [cell.signs for cell in row.cells]
    return found
