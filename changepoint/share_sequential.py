"""Measure in blocks until it is clear which of two sides reaches a threshold more often."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from changepoint.sequential import Decision
from changepoint.series import Floats
from changepoint.verdict import Verdict, check

HALF = 0.5
"""The smallest difference of shares that matters: as if one side mostly reached the threshold and
the other mostly did not, so that their medians are on different sides of it."""

ALTERNATIVES = ((0.98, 0.02), (0.75, 0.25))
"""Shares of the better and of the worse side that are bet on: nearly always against nearly never,
which four blocks of three runs show, and what is open on both sides."""

MOSTLY = 0.95
"""Share that is bet on against what claims at most a half: six runs that are all good refute it."""


class ShareSequential:
    """A comparison of how often the runs of base and head reach a threshold, in blocks.

    Whatever share of the runs of a block would reach it, if it is the same on both sides, then

        likelihood(base | p) likelihood(head | q) / likelihood(both | r),  r the mean over all runs

    for p and q that are laid down before has a mean of at most 1: an e-variable (Turner, Ly and
    Grunwald, Generic E-variables for exact sequential k-sample tests that allow for optional
    stopping, Journal of Statistical Planning and Inference 230, 2024). So the product over the
    blocks, and the mean of such products for several p and q, ever reaches 1 / alpha with a
    probability of at most alpha (Ville), however much blocks differ and however often one looks.
    That one side mostly reaches the threshold and the other mostly does not is refuted by bets
    against either half of the claim: a run that is good with a probability of at most a half pays
    ``2 * MOSTLY`` if it is, and ``2 * (1 - MOSTLY)`` if not.
    """

    def __init__(self, *, threshold: float, limit: int, confidence: float = 0.95) -> None:
        """Start without a block.

        Args:
            threshold: what a good run reaches.
            limit: blocks after which it ends undecided.
            confidence: that the true difference is inside every interval that is ever shown.

        Raises:
            ValueError: the confidence is out of range. One sentence.
        """
        check(HALF, "higher", confidence)
        self._threshold, self._limit = threshold, limit
        self._enough = -math.log((1.0 - confidence) / 2.0)
        self._blocks = 0
        # Of base and of head: runs that were good, and that were bad.
        self._good, self._bad = np.zeros(2), np.zeros(2)
        # Log wealth of those who bet that head is worse and that it is better, by alternative.
        self._worse, self._better = np.zeros(len(ALTERNATIVES)), np.zeros(len(ALTERNATIVES))
        self._decision = Decision(0, 0.0, (-1.0, 1.0), "undecided", done=False)

    @property
    def decision(self) -> Decision:
        """What is known after the blocks added so far.

        The effect is the share of the runs of head that were good less that of base, -1 to 1. Of
        its interval is known only whether 0 and whether a half is excluded.
        """
        return self._decision

    def add(
        self, base: float | Sequence[float] | Floats, head: float | Sequence[float] | Floats
    ) -> Decision:
        """Add one block: the levels of its runs, at least one of either side."""
        sides = [np.atleast_1d(np.asarray(levels, dtype=np.float64)) for levels in (base, head)]
        good = np.array([(levels >= self._threshold).sum() for levels in sides], dtype=np.float64)
        bad = np.array([len(levels) for levels in sides]) - good
        for number, shares in enumerate(ALTERNATIVES):
            self._worse[number] += log_ratio(good, bad, np.array(shares))
            self._better[number] += log_ratio(good, bad, np.array(shares[::-1]))
        self._good += good
        self._bad += bad
        self._blocks += 1
        self._decision = self._decide()
        return self._decision

    def _decide(self) -> Decision:
        base, head = (self._good / (self._good + self._bad)).tolist()
        effect = head - base
        won, lost = math.log(2.0 * MOSTLY), math.log(2.0 * (1.0 - MOSTLY))
        often = won * self._good + lost * self._bad
        seldom = lost * self._good + won * self._bad
        low, high = -1.0, 1.0
        if self._shown(np.array([often[1], seldom[0]])):
            low = -HALF  # head is mostly good, or base is mostly bad
        if self._shown(np.array([often[0], seldom[1]])):
            high = HALF
        if self._shown(self._better):
            low = 0.0
        if self._shown(self._worse):
            high = 0.0
        verdict: Verdict = "undecided"
        if low >= -HALF and high <= HALF:
            verdict = "same"
        if high <= 0.0 and effect <= -HALF:
            verdict = "worse"
        if low >= 0.0 and effect >= HALF:
            verdict = "better"
        done = verdict != "undecided" or self._blocks >= self._limit
        return Decision(self._blocks, effect, (low, high), verdict, done)

    def _shown(self, wealth: Floats) -> bool:
        """Say whether the mean of some wealths, given by their logarithms, is enough."""
        mean = float(np.logaddexp.reduce(wealth)) - math.log(len(wealth))
        return mean >= self._enough


def log_ratio(good: Floats, bad: Floats, shares: Floats) -> float:
    """The logarithm of the e-variable of one block, of these shares of good runs.

    Each argument is (2,), of base and of head; shares between 0 and 1.
    """
    runs = good + bad
    mean = float((runs * shares).sum() / runs.sum())
    return float((good * np.log(shares / mean) + bad * np.log((1.0 - shares) / (1.0 - mean))).sum())
