"""Describe a regression in one line of text."""

from __future__ import annotations

from pipeline.model import Regression
from pipeline.model.metrics import change
from pipeline.regressions.grouping import worst


def summary(regression: Regression) -> str:
    """Return one line about a regression: where it is, how large, in which series."""
    shifts = regression.shifts
    largest = worst(regression)
    more = f" and {len(shifts) - 1} more series" if len(shifts) > 1 else ""
    return (
        f"{regression.line}: {regression.last_good} -> {regression.first_bad}  "
        f"{change(largest)}  {largest.series.step} {largest.series.metric}{more}"
    )
