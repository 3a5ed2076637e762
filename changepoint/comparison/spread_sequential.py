"""Compare in blocks how much the runs of two sides vary."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from changepoint.comparison.group_sequential import LARGEST_LIMIT
from changepoint.comparison.sequential import SequentialDecision, logarithms
from changepoint.comparison.spending import nominal_levels
from changepoint.comparison.verdict import check, judge
from changepoint.detection.dispersion import replicate_deviations, scores
from changepoint.series import Floats

FIRST_LOOK = 6
"""Blocks before the first look: five deviations of one side are the fewest whose ranks can reach
the requested confidence."""

REACH = 10.0
"""Logarithm of the largest finite end of an interval."""

BISECTIONS = 16
"""Number of bisection steps for a ratio: enough for three digits."""


class SpreadSequential:
    """A comparison of the spread between the runs of base and head, in blocks.

    It compares the deviations of the logarithms of the levels from the median of their side, one
    fewer than runs (:func:`changepoint.detection.dispersion.replicate_deviations`). The deviations
    of both sides are ranked together and replaced by normal scores, as in the search for changes of
    spread. The mean scores of both sides are compared by a permutation test with its normal
    approximation (Fligner and Killeen, JASA 71, 1976), which is robust to tails and spikes. The
    looks share the error (:mod:`changepoint.comparison.spending`). The interval contains the ratios
    by which head's deviations may be divided without a significant difference from base's. Blocks
    that are noisy or quiet as a whole, and a drift of the machine, affect both sides and hide a
    difference, but never create one.
    """

    def __init__(
        self, *, smallest_ratio: float, floor: float, limit: int, confidence: float = 0.95
    ) -> None:
        """Begin a comparison without any block.

        Args:
            smallest_ratio: smallest ratio of the larger to the smaller spread that matters, at
                least 1.
            floor: deviations below this, as a fraction of the level, count as equal: quantised
                runs may all be equal.
            limit: number of blocks after which the comparison ends undecided, 1 to
                ``LARGEST_LIMIT``. With a limit below ``FIRST_LOOK`` it never reaches a verdict.
            confidence: probability that the true ratio is inside every displayed interval.

        Raises:
            ValueError: an option is out of range. The message is one sentence.
        """
        check(0.0, "lower", confidence)
        if not 1.0 <= smallest_ratio < math.inf:
            raise ValueError(f"smallest_ratio must be at least 1, not {smallest_ratio}")
        if type(limit) is not int or not 1 <= limit <= LARGEST_LIMIT:
            raise ValueError(f"limit must be a number of blocks up to {LARGEST_LIMIT}, not {limit}")
        self._smallest, self._floor, self._limit = math.log(smallest_ratio), floor, limit
        self._levels = nominal_levels(limit, FIRST_LOOK, (1.0 - confidence) / 2.0)
        self._base: list[float] = []
        self._head: list[float] = []
        self._blocks = 0
        self._decision = SequentialDecision(0, 0.0, (-1.0, math.inf), "undecided", done=False)

    @property
    def decision(self) -> SequentialDecision:
        """The decision according to the blocks so far; its effect is the ratio of spreads - 1."""
        return self._decision

    def add(
        self, base: float | Sequence[float] | Floats, head: float | Sequence[float] | Floats
    ) -> SequentialDecision:
        """Add a block: the values of its runs on either side.

        Raises:
            ValueError: the limit was reached, or a level is missing, not above zero or beyond
                1e300. The message is one sentence; the state is unchanged.
        """
        if self._blocks >= self._limit:
            raise ValueError(f"the comparison has reached its limit of {self._limit} blocks")
        first, second = logarithms("base", base), logarithms("head", head)
        self._base += first.tolist()
        self._head += second.tolist()
        self._blocks += 1
        self._decision = self._decide()
        return self._decision

    def _decide(self) -> SequentialDecision:
        spent = self._blocks >= self._limit
        if self._blocks < FIRST_LOOK:
            return SequentialDecision(self._blocks, 0.0, (-1.0, math.inf), "undecided", done=spent)
        base, head = (_deviations(side, self._floor) for side in (self._base, self._head))
        boundary = -float(ndtri(self._levels[self._blocks - FIRST_LOOK]))
        # The ratio at which both are equal: between those where head is still larger and smaller.
        middle = (_ratio(base, head, 0.0) - _ratio(head, base, 0.0)) / 2.0
        low, high = _ratio(base, head, boundary), -_ratio(head, base, boundary)
        verdict = judge(middle, (low, high), self._smallest, "lower")
        return SequentialDecision(
            blocks=self._blocks,
            effect=math.expm1(middle),
            effect_interval=(math.expm1(low), math.expm1(high)),
            verdict=verdict,
            done=verdict != "undecided" or spent,
        )


def _deviations(side: Sequence[float], floor: float) -> Floats:
    offsets = np.array([0, len(side)])
    return np.maximum(replicate_deviations(np.array(side), offsets)[0], floor)


def _ratio(base: Floats, head: Floats, boundary: float) -> float:
    """Return the largest ratio of spreads that head significantly exceeds, as a logarithm.

    -inf if it exceeds none.
    """
    lower, upper = -REACH, REACH
    if louder(base, head * math.exp(-lower)) <= boundary:
        return -math.inf
    for _ in range(BISECTIONS):
        middle = (lower + upper) / 2.0
        if louder(base, head * math.exp(-middle)) > boundary:
            lower = middle
        else:
            upper = middle
    return lower


def louder(base: Floats, head: Floats) -> float:
    """Return the test statistic for head varying more than base, in standard deviations.

    base (n,), head (m,): deviations, none negative.
    """
    ranked = scores(np.concatenate([base, head]))
    difference = ranked[len(base) :].mean() - ranked[: len(base)].mean()
    variance = ranked.var(ddof=1) * (1.0 / len(base) + 1.0 / len(head))
    return float(difference / math.sqrt(variance)) if variance > 0.0 else 0.0
