"""Judge a fix: how much of a loss came back, and what else became worse.

Two comparisons give the answer: good with bad, which is the loss, and bad with fixed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from pipeline.experiments.interleaved import BlocksResult, FigureVerdict
from pipeline.model import Frozen, Mode

FULL = 0.9
"""The share of a loss (a logarithm of a ratio) from which on a fix is full. The rest is below what
one of ten readers would act on."""

NONE = 0.1
"""The share of a loss up to which a fix has no effect."""


class FixOutcome(StrEnum):
    """How much of a loss a fix brings back."""

    FULL = "full"
    PART = "in part"
    NONE = "not"
    UNDECIDED = "undecided"


class RestoredFigure(Frozen):
    """One figure that had become worse: the loss, and the share that came back with its interval.

    ``loss`` is the relative change from good to bad, ``effect`` that from bad to fixed. ``share``
    is 1 if everything came back and 0 if nothing did, on a logarithmic scale; its interval counts
    the loss as exact.
    """

    step: str
    metric: str
    loss: float
    effect: float
    share: float
    low: float
    high: float

    @property
    def outcome(self) -> FixOutcome:
        """How much of the figure's loss came back."""
        if self.share >= FULL and self.low > (FULL + NONE) / 2:
            return FixOutcome.FULL
        if self.share <= NONE and self.high < (FULL + NONE) / 2:
            return FixOutcome.NONE
        if self.low > 0.0 and self.high < 1.0:
            return FixOutcome.PART
        return FixOutcome.UNDECIDED


class FixVerification(Frozen):
    """What a fix does to a regression, as it was measured.

    ``base`` is the revision that the fix was compared with: the bad one or, for the reverted
    culprit, the newest one. ``restored`` are the figures of the regression, the largest loss first;
    ``worse`` are the figures that the fix makes worse.
    """

    fingerprint: str
    fix: str
    good: str
    bad: str
    base: str
    mode: Mode
    at: datetime
    restored: tuple[RestoredFigure, ...]
    worse: tuple[FigureVerdict, ...]
    compared: int

    @property
    def outcome(self) -> FixOutcome:
        """How much of the largest loss came back."""
        return self.restored[0].outcome if self.restored else FixOutcome.UNDECIDED

    def sentence(self) -> str:
        """Describe the result in one line."""
        if not self.restored:
            return (
                f"{self.fix} is undecided: the loss was not seen again, or the fix was not measured"
            )
        worst = self.restored[0]
        came = {
            FixOutcome.FULL: "fixes the regression",
            FixOutcome.PART: "fixes a part of the regression",
            FixOutcome.NONE: "does not fix the regression",
            FixOutcome.UNDECIDED: "is undecided",
        }[worst.outcome]
        new = ", ".join(
            f"{row.step} {row.metric} "
            + ("failed" if row.verdict == "failed" else f"{row.effect:+.1%}")
            for row in self.worse[:3]
        )
        others = (
            f"; worse elsewhere: {new}" if new else f"; nothing else of {self.compared} is worse"
        )
        return (
            f"{self.fix} {came}: {worst.share:.0%} of the change of {worst.metric} in {worst.step} "
            f"came back (interval {worst.low:.0%} to {worst.high:.0%}){others}"
        )


def restored_figures(loss: BlocksResult, fixed: BlocksResult) -> tuple[RestoredFigure, ...]:
    """Return the figures that became worse from good to bad, and what a fix does to them.

    ``loss`` compares good with bad, ``fixed`` bad with fixed. The largest loss comes first.
    """
    again = {(row.step, row.metric): row for row in fixed.rows}
    found = []
    for row in loss.rows:
        after = again.get((row.step, row.metric))
        if row.verdict != "worse" or after is None or not after.blocks:
            continue
        whole = -_log(row.effect)
        ends = (_log(after.interval[0]) / whole, _log(after.interval[1]) / whole)
        found.append(
            RestoredFigure(
                step=row.step,
                metric=row.metric,
                loss=row.effect,
                effect=after.effect,
                share=_log(after.effect) / whole,
                low=min(ends),
                high=max(ends),
            )
        )
    return tuple(sorted(found, key=lambda one: -abs(_log(one.loss))))


def new_losses(
    fixed: BlocksResult, restored: Sequence[RestoredFigure]
) -> tuple[FigureVerdict, ...]:
    """Return the figures that a fix makes worse, the worst first, without the restored ones."""
    known = {(one.step, one.metric) for one in restored if one.outcome is not FixOutcome.NONE}
    worse = [
        row
        for row in fixed.rows
        if row.verdict in ("worse", "failed") and (row.step, row.metric) not in known
    ]
    return tuple(sorted(worse, key=lambda row: -row.loss))


def _log(effect: float) -> float:
    return math.log1p(max(effect, -1.0 + 1e-9))
