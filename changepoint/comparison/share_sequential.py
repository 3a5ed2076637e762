"""Compare in blocks how often the runs of two sides reach a threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from changepoint.comparison.sequential import SequentialDecision
from changepoint.comparison.verdict import Verdict, check
from changepoint.series import Floats

HALF = 0.5
"""The smallest difference of shares that matters: one side mostly reaches the threshold and the
other mostly does not, so their medians are on different sides of it."""

ALTERNATIVES = ((0.98, 0.02), (0.75, 0.25))
"""Pairs of shares to bet on, of the better and the worse side: nearly always against nearly never,
which four blocks of three runs suffice to show, and a less extreme pair."""

MOSTLY = 0.95
"""Share of good runs to bet on against the claim that a side reaches the threshold in at most half
of its runs: six good runs in a row refute the claim."""


class ShareSequential:
    """A comparison of how often base and head reach a threshold, in blocks.

    Let a run reach the threshold with the same probability on both sides of a block. Then the ratio

        likelihood(base | p) likelihood(head | q) / likelihood(both | r),  r the mean over all runs

    has, for p and q fixed in advance, an expectation of at most 1: it is an e-variable (Turner, Ly
    and Grunwald, Generic E-variables for exact sequential k-sample tests that allow for optional
    stopping, Journal of Statistical Planning and Inference 230, 2024). The product over the blocks,
    and the mean of such products for several p and q, therefore reaches 1 / alpha at any time with
    a probability of at most alpha (Ville), for any differences between blocks and any number of
    looks. The claim that one side mostly reaches the threshold and the other mostly does not is
    refuted by bets against either half of it: for a claimed probability of at most a half, a good
    run pays ``2 * MOSTLY``, and a bad one ``2 * (1 - MOSTLY)``.
    """

    def __init__(self, *, threshold: float, limit: int, confidence: float = 0.95) -> None:
        """Begin a comparison without any block.

        Args:
            threshold: the level that a good run reaches.
            limit: number of blocks after which the comparison ends undecided.
            confidence: probability that the true difference is inside every displayed interval.

        Raises:
            ValueError: the confidence is out of range. The message is one sentence.
        """
        check(HALF, "higher", confidence)
        self._threshold, self._limit = threshold, limit
        self._enough = -math.log((1.0 - confidence) / 2.0)
        self._blocks = 0
        # Counts of good and of bad runs, of base and of head.
        self._good, self._bad = np.zeros(2), np.zeros(2)
        # Log wealth of the bets that head is worse and that it is better, by alternative.
        self._worse, self._better = np.zeros(len(ALTERNATIVES)), np.zeros(len(ALTERNATIVES))
        self._decision = SequentialDecision(0, 0.0, (-1.0, 1.0), "undecided", done=False)

    @property
    def decision(self) -> SequentialDecision:
        """The decision according to the blocks so far.

        The effect is the share of good runs of head minus that of base, -1 to 1. The interval only
        shows whether the comparison excludes a difference of 0, and one of a half.
        """
        return self._decision

    def add(
        self, base: float | Sequence[float] | Floats, head: float | Sequence[float] | Floats
    ) -> SequentialDecision:
        """Add a block: the values of at least one run on either side."""
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

    def _decide(self) -> SequentialDecision:
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
        return SequentialDecision(self._blocks, effect, (low, high), verdict, done)

    def _shown(self, wealth: Floats) -> bool:
        """Return whether the mean of some wealths (logarithms) reaches the required evidence."""
        mean = float(np.logaddexp.reduce(wealth)) - math.log(len(wealth))
        return mean >= self._enough


def log_ratio(good: Floats, bad: Floats, shares: Floats) -> float:
    """Return the evidence of one block for given shares of good runs, as a logarithm.

    good, bad: numbers of good and of bad runs. shares: assumed probabilities of a good run. Each is
    (2,): of base and of head.
    """
    runs = good + bad
    mean = float((runs * shares).sum() / runs.sum())
    return float((good * np.log(shares / mean) + bad * np.log((1.0 - shares) / (1.0 - mean))).sum())
