"""Write tables as text, markdown, CSV, TSV, JSON or HTML."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.report.grid import Grid
from pipeline.report.render.delimited import as_csv, as_tsv
from pipeline.report.render.html import as_html
from pipeline.report.render.json import as_json
from pipeline.report.render.markdown import as_markdown

FORMATS: dict[str, Callable[[Grid], str]] = {
    "markdown": as_markdown,
    "csv": as_csv,
    "tsv": as_tsv,
    "json": as_json,
    "html": as_html,
}
"""The file formats by name; text is for the terminal and has colours."""
