"""Regressions for the tests of sinks."""

from __future__ import annotations

from pipeline.model import Regression, RegressionState, Shift
from pipeline.regressions.grouping import group_shifts
from tests.regressions.samples import shift


def regression(*shifts: Shift) -> Regression:
    """The regression of these shifts, which have one cause."""
    (found,) = group_shifts(shifts or [shift(11, -0.2)])
    return found


def stated(found: Regression, state: RegressionState) -> Regression:
    return found.model_copy(update={"state": state})


def confirmed(found: Regression) -> Regression:
    return stated(found, RegressionState.CONFIRMED)


WORSE = regression(shift(11, -0.2, step="scan_range=100"), shift(11, 0.3, metric="cpu_us/o"))
BETTER = regression(shift(11, 0.25, worse=False))
OTHER = regression(shift(12, -0.5))
