"""Decide which regressions are reported: one rule for all sinks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pipeline.model import Regression, RegressionState
from pipeline.notify.base import Cause

SETTLED = frozenset(
    {
        RegressionState.REJECTED,
        RegressionState.ACKNOWLEDGED,
        RegressionState.RESOLVED,
        RegressionState.WONT_FIX,
    }
)
"""Regressions in these states get no new report; an existing report is kept up to date."""

GONE = frozenset({RegressionState.REJECTED, RegressionState.RESOLVED})
"""States of a regression that never existed (rejected) or no longer exists (resolved)."""


class ReportedRegression(NamedTuple):
    """A regression to report, with the other regressions that have the same cause.

    ``new`` means that it has no report yet.
    """

    regression: Regression
    beside: tuple[Regression, ...]
    new: bool

    @property
    def stands(self) -> bool:
        """Whether a regression of this cause still exists; otherwise the report is closed."""
        return any(one.state not in GONE for one in (self.regression, *self.beside))


def choose(
    causes: Sequence[Cause], known: Collection[str], *, suspected: bool
) -> list[ReportedRegression]:
    """Return the regressions to report, grouped by cause.

    ``known`` are the fingerprints of reported regressions; their reports are updated in every
    state. For a cause without a report, the first confirmed regression is chosen; with
    ``suspected``, the first that is confirmed or suspected. A slowdown at equal instructions is
    skipped unless there is proof that the code is the cause. Improvements are never reported, not
    even together with a regression. Regressions with one cause share a report, unless they had
    separate reports before the cause was known.
    """
    needless = SETTLED if suspected else SETTLED | {RegressionState.SUSPECTED}
    chosen = []
    for cause in causes:
        worse = [one for one in cause.regressions if one.worse]
        reported = [one for one in worse if one.fingerprint in known]
        fresh = [
            one
            for one in worse
            if one.state not in needless and one.fingerprint not in cause.unproven
        ]
        for one in reported or fresh[:1]:
            beside = tuple(other for other in worse if other is not one)
            chosen.append(ReportedRegression(one, beside, new=not reported))
    return chosen
