"""The figures of a measured pull request as a table: levels of base and head, change, verdict."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from pipeline.experiments.experiment import Figure
from pipeline.experiments.interleaved import FigureVerdict
from pipeline.experiments.pull_request import Levels, PullRequestRuns
from pipeline.model.metrics import METRICS, plain_name
from pipeline.report.compared import MOST_SAME, NO_NEWS, interval
from pipeline.text.markdown import cell
from pipeline.text.units import plural, show_figure, show_percent

DIGITS = 5
"""Number of significant digits of a level; counted levels differ in the fourth digit."""

_HEADS = ("step", "metric", "base", "head", "change", "interval", "verdict")


def figures_table(measured: PullRequestRuns, rows: Sequence[FigureVerdict]) -> list[str]:
    """Return the rows as lines of markdown, in order; many unchanged rows are folded."""
    levels = {each.figure: each for each in measured.levels}
    same = [row for row in rows if row.verdict in NO_NEWS]
    folded = same if len(same) > MOST_SAME else []
    lines = _table([row for row in rows if row not in folded], levels)
    if folded:
        summary = f"<summary>{plural(len(folded), 'figure')} without a change</summary>"
        lines += ["<details>", summary, "", *_table(folded, levels), "</details>", ""]
    return lines


def _table(rows: Sequence[FigureVerdict], levels: dict[Figure, Levels]) -> list[str]:
    if not rows:
        return []
    lines = [f"| {' | '.join(_HEADS)} |", "| :--- | :--- | ---: | ---: | ---: | :---: | :--- |"]
    for row in rows:
        cells = [cell(each) for each in _cells(row, levels[Figure(row.step, row.metric)])]
        if row.verdict in ("worse", "failed"):
            cells[-1] = f"**{cells[-1]}**"
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _cells(row: FigureVerdict, levels: Levels) -> tuple[str, ...]:
    base, head = _level((*levels.base, *levels.control)), _level(levels.head)
    shown = (row.step, f"{plain_name(row.metric)} ({row.metric})")
    unit = METRICS[row.metric].unit
    absolute = tuple(_show(level, unit) for level in (base, head))
    if not row.blocks:
        return (*shown, *absolute, "", "", row.verdict)
    return (*shown, *absolute, show_percent(row.effect, sign=True), interval(row), row.verdict)


def _level(runs: Sequence[float | None]) -> float | None:
    """Return the median of the runs that yielded the figure."""
    found = [run for run in runs if run is not None]
    return median(found) if found else None


def _show(level: float | None, unit: str) -> str:
    if level is None:
        return "none"
    shown = show_figure(level, DIGITS)
    return shown if unit in ("", "count", "ratio") else f"{shown} {unit}"
