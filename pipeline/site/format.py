"""Format numbers, times and names for the pages of the site."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from pipeline.model import Shift
from pipeline.model.metrics import METRICS, change_in_unit

MINUS = "\u2212"
"""The minus sign, which is as wide as a digit, so that columns of numbers align."""


def percent(value: float) -> str:
    """Format a relative change in percent with its sign."""
    if math.isinf(value):
        return f"{'+' if value > 0 else MINUS}∞"
    # Rounded first, so that a change shown as zero has no sign.
    shown = round(100 * value, 1)
    sign = "+" if shown > 0 else MINUS if shown < 0 else "±"
    return f"{sign}{abs(shown):.1f} %"


def change(shift: Shift) -> str:
    """Format a relative change, or a change in the metric's unit if the level before is zero."""
    if math.isfinite(shift.effect):
        return percent(shift.effect)
    return change_in_unit(shift).replace("-", MINUS, 1)


def interval(shift: Shift) -> str:
    """Format the interval of a relative change; empty if the level before is zero."""
    if not math.isfinite(shift.effect):
        return "–"
    return f"{percent(shift.effect_low)} to {percent(shift.effect_high)}"


def figure(value: float | None) -> str:
    """Format a value with three significant digits, or with all digits of its integer part."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1000:
        text = f"{size:,.0f}".replace(",", "\u202f")
    elif size >= 100:
        text = f"{size:.0f}"
    elif size >= 0.001:
        text = f"{size:.{2 - math.floor(math.log10(size))}f}"
    else:
        digits, _, exponent = f"{size:.1e}".partition("e")
        text = f"{digits}e{MINUS}{abs(int(exponent))}"
    return f"{MINUS}{text}" if value < 0 else text


def probability(value: float) -> str:
    """Format a p-value with two digits; it is never shown as zero."""
    if value < 1e-4:
        return "< 0.0001"
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def moment(when: datetime) -> str:
    """Format a time to the minute (UTC)."""
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def unit_of(metric: str) -> str:
    """Return the unit of a metric; empty for an unknown metric and for a plain count."""
    known = METRICS.get(metric)
    return known.unit if known is not None and known.unit not in {"count", "ratio"} else ""


def help_of(metric: str) -> str:
    """Return the definition of a metric."""
    known = METRICS.get(metric)
    return known.help if known is not None else metric


_DIGITS = 5
"""Significant digits of chart data: ten times finer than a pixel."""


def short(value: float | None) -> float | None:
    """Round a number to the digits that are visible; None if JSON cannot hold it."""
    if value is None or not math.isfinite(value):
        return None
    kept = float(f"{value:.{_DIGITS}g}") if abs(value) < 10**_DIGITS else float(round(value))
    return int(kept) if kept.is_integer() else kept


class Anchors:
    """Gives every section of a page a readable name for links, each only once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, *parts: str) -> str:
        """Return a new name for links to a section, made of ``parts``."""
        slug = "--".join(re.sub(r"[^A-Za-z0-9._]+", "-", part).strip("-") or "x" for part in parts)
        name, number = slug, 1
        while name in self._taken:
            number += 1
            name = f"{slug}.{number}"
        self._taken.add(name)
        return name
