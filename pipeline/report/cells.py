"""The cells of grids: how values are written, and when they have a colour."""

from __future__ import annotations

from typing import Literal

from pipeline.config import Colour, ReportSection
from pipeline.metrics import METRICS, Direction
from pipeline.report.grid import MISSING, Cell, Tone

RATIO_DECIMALS = 2
"""The published decimals of relative values."""

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
    # As vmstat calls them: context switches, and the shares of the processors' time.
    "cs": 0,
    "us": 1,
    "sy": 1,
    "id": 1,
    "wa": 1,
    "us+sy": 1,
}
"""Decimals of absolute values in the tables that have a column for each metric."""


def tone_of(metric: str, ratio: float | None, settings: ReportSection) -> Tone:
    """Say whether a relative value is worse, better, or nothing remarkable."""
    if ratio is None:
        return ""
    ratio = _turned(metric, ratio)
    if ratio <= settings.worse:
        return "worse"
    return "better" if ratio >= settings.better else ""


def colour_of(metric: str, ratio: float | None, settings: ReportSection) -> Colour | Literal[""]:
    """Return the colour of a relative value: that of the farthest limit that it reaches."""
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
    """Write one value: with so many decimals, or with the digits that it needs."""
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
) -> Cell:
    """Return the cell of a relative value, with its colour."""
    return Cell(
        value=ratio,
        text=format_value(ratio, RATIO_DECIMALS if decimals is None else decimals),
        tone=tone_of(metric, ratio, settings),
        colour=colour_of(metric, ratio, settings),
        signs=signs if ratio is not None else "",
    )


def value_cell(value: float | None, decimals: int | None = None, signs: str = "") -> Cell:
    """Return the cell of an absolute value, which has no colour."""
    return Cell(
        value=value,
        text=format_value(value, decimals),
        signs=signs if value is not None else "",
    )


def published_cell(
    metric: str, value: float | None, decimals: int | None = None, signs: str = ""
) -> Cell:
    """Return the cell of an absolute value with the published decimals of its metric.

    ``cpu/o`` is published without the zero before its point: ``.000557``.
    """
    cell = value_cell(
        value, PUBLISHED_DECIMALS.get(metric) if decimals is None else decimals, signs
    )
    if metric == "cpu/o":
        return cell.model_copy(update={"text": cell.text.removeprefix("0") or cell.text})
    return cell


def _turned(metric: str, ratio: float) -> float:
    """Turn a ratio over where less is better.

    1 / 0.95 of the CPU time is as bad as 0.95 of the throughput.
    """
    known = METRICS.get(metric)
    if known is None or known.direction is Direction.MORE_IS_BETTER:
        return ratio
    return 1 / ratio if ratio > 0 else float("inf")
