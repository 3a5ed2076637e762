"""How values look in the cells of a table: digits and colour."""

from __future__ import annotations

from typing import Literal

from pipeline.config import Colour, ReportSection
from pipeline.model.metrics import METRICS, Direction
from pipeline.report.grid import MISSING, TableCell, Tone

RATIO_DECIMALS = 2
"""Number of decimals of relative values, as in the published reports."""

PUBLISHED_DECIMALS = {
    "qps": 0,
    "o/s": 0,
    "nopm": 0,
    "tpm": 0,
    "r/s": 1,
    "rMB/s": 1,
    "w/s": 1,
    "wMB/s": 1,
    "r/o": 3,
    "rKB/o": 3,
    "w/o": 3,
    "wKB/o": 3,
    "cs/s": 0,
    "cpu/s": 1,
    "cs/o": 3,
    "cpu/o": 6,
    # Named as in vmstat: context switches, and the shares of CPU time.
    "cs": 0,
    "us": 1,
    "sy": 1,
    "id": 1,
    "wa": 1,
    "us+sy": 1,
}
"""Decimals of absolute values in tables with a column per metric."""


def tone_of(metric: str, ratio: float | None, settings: ReportSection) -> Tone:
    """Return whether a relative value is worse, better or neither."""
    if ratio is None:
        return ""
    ratio = _turned(metric, ratio)
    if ratio <= settings.worse:
        return "worse"
    return "better" if ratio >= settings.better else ""


def colour_of(metric: str, ratio: float | None, settings: ReportSection) -> Colour | Literal[""]:
    """Return the colour of a relative value, by the limits that ``[report]`` sets."""
    if ratio is None:
        return ""
    ratio = _turned(metric, ratio)
    low = [(settings.worse, settings.worse_colour), *(f for f in settings.further if f[0] < 1)]
    high = [(settings.better, settings.better_colour), *(f for f in settings.further if f[0] >= 1)]
    if below := [limit for limit in low if ratio <= limit[0]]:
        return min(below)[1]
    if above := [limit for limit in high if ratio >= limit[0]]:
        return max(above)[1]
    return settings.between_colour


def format_value(value: float | None, decimals: int | None = None) -> str:
    """Format a value with these decimals, or with as many digits as it needs."""
    if value is None:
        return MISSING
    if decimals is not None:
        return f"{value:.{decimals}f}"
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.2e}"


def ratio_cell(
    metric: str,
    ratio: float | None,
    settings: ReportSection,
    decimals: int | None = None,
    signs: str = "",
) -> TableCell:
    """Return the table cell of a relative value, with its colour."""
    return TableCell(
        value=ratio,
        text=format_value(ratio, RATIO_DECIMALS if decimals is None else decimals),
        tone=tone_of(metric, ratio, settings),
        colour=colour_of(metric, ratio, settings),
        signs=signs if ratio is not None else "",
    )


def value_cell(value: float | None, decimals: int | None = None, signs: str = "") -> TableCell:
    """Return the table cell of an absolute value."""
    return TableCell(
        value=value,
        text=format_value(value, decimals),
        signs=signs if value is not None else "",
    )


def published_cell(
    metric: str, value: float | None, decimals: int | None = None, signs: str = ""
) -> TableCell:
    """Return the table cell of an absolute value, with as many decimals as published.

    ``cpu/o`` is published without the zero before its point: ``.000557``.
    """
    cell = value_cell(
        value, PUBLISHED_DECIMALS.get(metric) if decimals is None else decimals, signs
    )
    if metric == "cpu/o":
        return cell.model_copy(update={"text": cell.text.removeprefix("0") or cell.text})
    return cell


def _turned(metric: str, ratio: float) -> float:
    """Return 1 / ratio where less is better, so that above 1 is always good.

    1 / 0.95 of the CPU time is as bad as 0.95 of the throughput.
    """
    known = METRICS.get(metric)
    if known is None or known.direction is Direction.MORE_IS_BETTER:
        return ratio
    return 1 / ratio if ratio > 0 else float("inf")
