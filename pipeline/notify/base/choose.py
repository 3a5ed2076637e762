"""What is told: one rule for all sinks."""

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
"""States in which a regression that nothing was told of needs to be told no more."""

GONE = frozenset({RegressionState.REJECTED, RegressionState.RESOLVED})
"""States in which there is nothing to be mended: measured not to be there, or no more."""


class Telling(NamedTuple):
    """A regression that is told, with the others of its cause; ``new`` where it was not before."""

    regression: Regression
    beside: tuple[Regression, ...]
    new: bool

    @property
    def stands(self) -> bool:
        """Whether any of them is still there: what tells of it is closed when none is."""
        return any(one.state not in GONE for one in (self.regression, *self.beside))


def choose(causes: Sequence[Cause], known: Collection[str], *, suspected: bool) -> list[Telling]:
    """Return what is told, in the order of the causes.

    ``known`` are the fingerprints of the regressions that were told before: these are brought up
    to date, whatever became of them. Of a cause of which nothing was told it is the first
    regression that is not settled, if it was confirmed or ``suspected`` ones are told, too.
    Improvements are told to nobody, not even beside. Regressions of one cause are told together,
    unless they were told apart before that was known.
    """
    needless = SETTLED if suspected else SETTLED | {RegressionState.SUSPECTED}
    chosen = []
    for cause in causes:
        worse = [one for one in cause.regressions if one.worse]
        told = [one for one in worse if one.fingerprint in known]
        for one in told or [one for one in worse if one.state not in needless][:1]:
            beside = tuple(other for other in worse if other is not one)
            chosen.append(Telling(one, beside, new=not told))
    return chosen
