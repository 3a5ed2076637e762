"""A table as text in the published layout, and as markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from rich.text import Text

from pipeline.config import ReportSection
from pipeline.markdown import cell
from pipeline.metrics import METRICS, Direction
from pipeline.report.relative import Table

MISSING = "-"
"""Stands where a step was not measured or failed; never a number."""

WORSE, BETTER = "yellow", "blue"
"""The published colours."""


def colour_of(metric: str, ratio: float | None, settings: ReportSection) -> str:
    """Return the colour of a relative value: worse, better, or none at all ("").

    Where less is better the limits are turned over: 1 / 0.95 of the CPU time is as bad as 0.95
    of the throughput.
    """
    if ratio is None:
        return ""
    known = METRICS.get(metric)
    if known is not None and known.direction is Direction.LESS_IS_BETTER:
        ratio = 1 / ratio if ratio > 0 else float("inf")
    if ratio <= settings.worse:
        return WORSE
    return BETTER if ratio >= settings.better else ""


def format_value(value: float | None, relative: bool, decimals: int | None = None) -> str:
    """Write one value: relative ones with two decimals, absolute ones with what they need."""
    if value is None:
        return MISSING
    if decimals is not None:
        return f"{value:.{decimals}f}"
    if relative:
        return f"{value:.2f}"
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.2e}"


def as_text(table: Table, settings: ReportSection, decimals: int | None = None) -> Text:
    """Return the published layout: a legend, then for each group col-N columns, name last."""
    text = Text()
    text.append(f"{table.title}: {table.metric}{_unit(table.metric)}\n", style="bold")
    if table.base is not None:
        text.append(f"Relative to: {table.base.name}\n")
    heads = [f"col-{number}" for number in range(1, len(table.columns) + 1)]
    for head, column in zip(heads, table.columns, strict=True):
        text.append(f"{head} : {column.name}\n")
    relative = table.base is not None
    width = 8
    for group in table.groups:
        cells = [[format_value(v, relative, decimals) for v in row.values] for row in group.rows]
        width = max([width, *(len(cell) + 2 for row in cells for cell in row)])
    for group in table.groups:
        text.append("\n" + "".join(head.ljust(width) for head in heads))
        text.append(f"{group.name}\n", style="bold")
        for row in group.rows:
            for value in row.values:
                shown = format_value(value, relative, decimals).ljust(width)
                colour = colour_of(table.metric, value, settings) if relative else ""
                text.append(shown, style=colour)
            text.append(f"{row.step}\n")
    return text


def as_markdown(table: Table, settings: ReportSection, decimals: int | None = None) -> str:
    """Return the same as markdown; worse values are bold, better ones in italics."""
    relative = table.base is not None
    marks = {WORSE: "**", BETTER: "*", "": ""}
    heads = [f"col-{number}" for number in range(1, len(table.columns) + 1)]
    lines = [f"### {cell(table.title)}: {table.metric}{_unit(table.metric)}", ""]
    if table.base is not None:
        lines += [f"Relative to: {cell(table.base.name)}", ""]
    lines += [
        f"- {head}: {cell(column.name)}" for head, column in zip(heads, table.columns, strict=True)
    ]
    for group in table.groups:
        lines += ["", f"| {' | '.join(heads)} | {cell(group.name)} |"]
        lines.append("| " + "---: | " * len(heads) + ":--- |")
        for row in group.rows:
            cells = []
            for value in row.values:
                mark = marks[colour_of(table.metric, value, settings)] if relative else ""
                cells.append(f"{mark}{format_value(value, relative, decimals)}{mark}")
            lines.append(f"| {' | '.join(cells)} | {cell(row.step)} |")
    return "\n".join([*lines, ""])


def as_csv(table: Table, settings: ReportSection, decimals: int | None = None) -> str:
    """Return comment lines, then a row per step; exact values.

    An absolute table in this form can be imported again.
    """
    out = io.StringIO()
    out.write(f"# title: {table.title}\n# metric: {table.metric}\n")
    out.write(f"# kind: {'absolute' if table.base is None else 'relative'}\n")
    if table.base is not None:
        out.write(f"# base: {table.base.name}\n")
    out.write(_targets(table))
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["step", "group", *(column.name for column in table.columns)])
    for group in table.groups:
        for row in group.rows:
            writer.writerow([row.step, group.name, *(_exact(v, decimals) for v in row.values)])
    return out.getvalue()


def as_json(table: Table, settings: ReportSection, decimals: int | None = None) -> str:
    """Return the table as JSON; values that are missing are null."""
    return table.model_dump_json(indent=1) + "\n"


FORMATS: dict[str, Callable[[Table, ReportSection, int | None], str]] = {
    "markdown": as_markdown,
    "csv": as_csv,
    "json": as_json,
}
"""The written formats by name; text is for the terminal and has colours."""


def _targets(table: Table) -> str:
    """Say of which DBMS the columns are, as the import of published tables reads it."""
    targets = {column.name: column.target for column in table.columns if column.target}
    if len(set(targets.values())) > 1:
        pairs = "; ".join(f"{name}={target}" for name, target in targets.items())
        return f"# column-targets: {pairs}\n"
    return "".join(f"# target: {target}\n" for target in set(targets.values()))


def _unit(metric: str) -> str:
    known = METRICS.get(metric)
    return f" ({known.unit})" if known is not None else ""


def _exact(value: float | None, decimals: int | None) -> str:
    if value is None:
        return ""
    return repr(value) if decimals is None else f"{value:.{decimals}f}"
