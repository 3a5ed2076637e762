"""A regression in one line."""

from __future__ import annotations

from pipeline.analyse.regressions import worst
from pipeline.metrics import change
from pipeline.model import Regression


def summary(regression: Regression) -> str:
    """Say a regression in one line: where, how much, in what."""
    shifts = regression.shifts
    largest = worst(regression)
    more = f" and {len(shifts) - 1} more series" if len(shifts) > 1 else ""
    return (
        f"{regression.line}: {regression.last_good} -> {regression.first_bad}  "
        f"{change(largest)}  {largest.series.step} {largest.series.metric}{more}"
    )
