"""Compare two sides in blocks with Student's t-test, for few blocks at moderate noise."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from scipy.special import stdtrit

from changepoint.comparison.sequential import SequentialDecision, mean_logarithm
from changepoint.comparison.spending import nominal_levels
from changepoint.comparison.verdict import Better, check, judge
from changepoint.series import LARGEST_EXPONENT, Floats

FIRST_LOOK = 3
"""Number of blocks before the first look: two values show almost nothing of the noise."""

LARGEST_LIMIT = 200
"""Largest block limit of a comparison: computing the boundaries of a thousand blocks takes
seconds."""

TRIM = 0.1
"""Share of the blocks trimmed at either end, rounded down: from ten blocks on, one spike in each
direction is tolerated. Fewer blocks are not trimmed."""

FLOOR = 0.1
"""Lower bound of a block's deviation, as a share of the smallest effect: quantised differences may
all be equal, which does not mean that there is no noise."""


class GroupSequential:
    """A comparison of base and head in blocks of runs, with t-tests.

    Its intervals are repeated confidence intervals (Jennison and Turnbull, JRSS B 51, 1989): all
    displayed intervals hold simultaneously, because each look has its share of the error
    (:mod:`changepoint.comparison.spending`). The noise of a block is assumed normal except for
    single spikes, which are trimmed from ten blocks on (Tukey and McLaughlin, Sankhya A 25, 1963).
    A large effect is decided after three or four blocks, whereas :class:`Sequential`, which bets on
    signs, needs six and more.
    """

    def __init__(
        self,
        *,
        smallest_effect: float,
        limit: int,
        better: Better = "higher",
        confidence: float = 0.95,
        first_look: int = FIRST_LOOK,
    ) -> None:
        """Begin a comparison without any block.

        Args:
            smallest_effect: smallest relative change that matters, as a fraction.
            limit: number of blocks after which the comparison ends undecided, ``first_look`` to
                ``LARGEST_LIMIT``. The error probability is spread over these blocks, so a limit
                that is never reached costs some power.
            better: whether a higher or a lower level is good.
            confidence: probability that the true effect is inside every displayed interval.
            first_look: blocks before the first decision, at least 3.

        Raises:
            ValueError: an option is out of range. The message is one sentence.
        """
        check(smallest_effect, better, confidence)
        if type(first_look) is not int or first_look < FIRST_LOOK:
            raise ValueError(f"first_look must be at least {FIRST_LOOK} blocks, not {first_look}")
        if type(limit) is not int or not first_look <= limit <= LARGEST_LIMIT:
            raise ValueError(
                f"limit must be a number of blocks from {first_look} to {LARGEST_LIMIT}, "
                f"not {limit}"
            )
        self._smallest_effect, self._limit = float(smallest_effect), limit
        self._better: Better = better
        self._confidence = float(confidence)
        self._first_look = first_look
        self._levels = nominal_levels(limit, first_look, (1.0 - confidence) / 2.0)
        self._differences: list[float] = []
        self._decision = SequentialDecision(0, 0.0, (-1.0, math.inf), "undecided", done=False)

    @property
    def decision(self) -> SequentialDecision:
        """The decision according to the blocks so far."""
        return self._decision

    def add(
        self, base: float | Sequence[float] | Floats, head: float | Sequence[float] | Floats
    ) -> SequentialDecision:
        """Add a block: the values of its runs on either side.

        More blocks may be added after a verdict, up to the limit.

        Raises:
            ValueError: the limit was reached, or a level is missing, not above zero or beyond
                1e300. The message is one sentence; the state is unchanged.
        """
        if len(self._differences) >= self._limit:
            raise ValueError(f"the comparison has reached its limit of {self._limit} blocks")
        self._differences.append(mean_logarithm("head", head) - mean_logarithm("base", base))
        self._decision = self._decide()
        return self._decision

    def _decide(self) -> SequentialDecision:
        blocks = len(self._differences)
        middle, error, freedom = _trimmed(
            np.array(self._differences), FLOOR * math.log1p(self._smallest_effect)
        )
        interval = (-1.0, math.inf)
        if blocks >= self._first_look:
            level = self._levels[blocks - self._first_look]
            reach = -error * float(stdtrit(freedom, level))
            interval = _relative(middle - reach), _relative(middle + reach)
        effect = _relative(middle)
        verdict = judge(effect, interval, self._smallest_effect, self._better)
        done = verdict != "undecided" or blocks >= self._limit
        return SequentialDecision(blocks, effect, interval, verdict, done)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole comparison as plain dicts, lists, strings and numbers."""
        return {
            "smallest_effect": self._smallest_effect,
            "limit": self._limit,
            "better": self._better,
            "confidence": self._confidence,
            "first_look": self._first_look,
            "differences": list(self._differences),
        }

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """Read a comparison back from :meth:`to_dict`. Raises ValueError if invalid.

        The copy makes the same decisions as the original on the same further blocks.
        """
        try:
            copy = cls(
                smallest_effect=float(tree["smallest_effect"]),
                limit=tree["limit"],
                better=tree["better"],
                confidence=float(tree["confidence"]),
                first_look=tree["first_look"],
            )
            copy._differences = [float(x) for x in tree["differences"]]
            if len(copy._differences) > copy._limit or not np.all(np.isfinite(copy._differences)):
                raise ValueError("the state has too many differences, or one that is not finite")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"the saved state of the comparison by t tests is invalid: {error!r}"
            ) from error
        if copy._differences:
            copy._decision = copy._decide()
        return copy

    def to_json(self) -> str:
        """Return the whole comparison as standard JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a comparison back from the text of :meth:`to_json`."""
        return cls.from_dict(json.loads(text))


def _trimmed(values: Floats, floor: float) -> tuple[float, float, int]:
    """Return the trimmed mean of values, its standard error and its degrees of freedom.

    floor: lower bound of a value's deviation.
    """
    ordered = np.sort(values)
    cut = int(TRIM * len(ordered))
    kept = ordered[cut : len(ordered) - cut]
    winsorised = np.clip(ordered, kept[0], kept[-1])
    squares = float(((winsorised - winsorised.mean()) ** 2).sum())
    squares = max(squares, (len(kept) - 1) * floor**2)
    freedom = len(kept) - 1
    error = math.sqrt(squares / (len(kept) * freedom)) if freedom else math.inf
    return float(kept.mean()), error, freedom


def _relative(logarithm: float) -> float:
    return math.expm1(min(logarithm, LARGEST_EXPONENT))
