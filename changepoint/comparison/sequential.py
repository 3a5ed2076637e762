"""Compare two sides block by block; the answer is valid whenever the measuring stops."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self, get_args

import numpy as np

from changepoint.comparison import sign_bets
from changepoint.comparison.verdict import Better, Verdict, check, judge
from changepoint.series import LARGEST, LARGEST_EXPONENT, Floats
from changepoint.to_json import plain

LARGEST_LIMIT = 1000
"""Largest block limit of a comparison: the cost of adding a block grows with the square of the
number of blocks."""

GUESS = 0.01
"""Assumed scale of the noise in the first blocks, as a fraction of the level, if the smallest
effect is 0."""


@dataclass(frozen=True, slots=True)
class SequentialDecision:
    """The state of a comparison in blocks: the effect, its interval, and the verdict so far.

    Attributes:
        blocks: number of added blocks.
        effect: relative change from base to head, 0 before the first block.
        effect_interval: confidence interval of ``effect``; its upper bound is infinite until there
            are enough blocks. The intervals of all looks hold simultaneously with the requested
            confidence.
        verdict: ``undecided`` until the interval decides; see ``comparison.verdict``.
        done: no further block is needed: there is a verdict, or the limit was reached.
    """

    blocks: int
    effect: float
    effect_interval: tuple[float, float]
    verdict: Verdict
    done: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain dicts, lists, strings and finite numbers."""
        tree: dict[str, Any] = plain(asdict(self))
        return tree

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """Read a decision back from :meth:`to_dict`. Raises ValueError if invalid."""
        try:
            low, high = tree["effect_interval"]
            read = cls(
                blocks=int(tree["blocks"]),
                effect=float(tree["effect"]),
                effect_interval=(float(low), float(high)),
                verdict=tree["verdict"],
                done=bool(tree["done"]),
            )
            if read.verdict not in get_args(Verdict):
                raise ValueError(f"unknown verdict {read.verdict!r}")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the saved decision is invalid: {error!r}") from error
        return read

    def to_json(self) -> str:
        """Return the decision as standard JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a decision back from the text of :meth:`to_json`."""
        return cls.from_dict(json.loads(text))


class Sequential:
    """A comparison of base and head, block by block, that says when to stop.

    A block is a pair of adjacent runs, or several of either side in an order that cancels drift,
    such as base head head base. Its difference is that of the mean logarithms. Looking after every
    block costs nothing: the interval is a confidence sequence
    (:mod:`changepoint.comparison.sign_bets`), valid for any number of looks. It only assumes that
    blocks are independent and that a block's difference is symmetric about the true one, as it is
    if base and head have the same noise in proportion to their level.
    """

    def __init__(
        self,
        *,
        smallest_effect: float,
        limit: int,
        better: Better = "higher",
        confidence: float = 0.95,
    ) -> None:
        """Begin a comparison without any block.

        Args:
            smallest_effect: smallest relative change that matters, as a fraction.
            limit: number of blocks after which the comparison ends undecided, 1 to
                ``LARGEST_LIMIT``.
            better: whether a higher or a lower level is good.
            confidence: probability that the true effect is inside every displayed interval.

        Raises:
            ValueError: an option is out of range. The message is one sentence.
        """
        check(smallest_effect, better, confidence)
        if type(limit) is not int or not 1 <= limit <= LARGEST_LIMIT:
            raise ValueError(f"limit must be a number of blocks up to {LARGEST_LIMIT}, not {limit}")
        self._smallest_effect = float(smallest_effect)
        self._limit = limit
        self._better: Better = better
        self._confidence = float(confidence)
        self._guess = math.log1p(smallest_effect) or GUESS
        self._differences: list[float] = []
        self._scales: list[float] = []
        self._decision = SequentialDecision(0, 0.0, (-1.0, math.inf), "undecided", done=False)

    @property
    def decision(self) -> SequentialDecision:
        """The decision according to the blocks so far."""
        return self._decision

    def add(
        self, base: float | Sequence[float] | Floats, head: float | Sequence[float] | Floats
    ) -> SequentialDecision:
        """Add a block: the values of its runs on either side.

        Raises:
            ValueError: the comparison is done, or a level is missing, not above zero or beyond
                1e300. The message is one sentence; the state is unchanged.
        """
        if self._decision.done:
            raise ValueError(
                f"the comparison ended after {self._decision.blocks} blocks with the verdict "
                f"{self._decision.verdict}; it takes no more blocks"
            )
        self._append(mean_logarithm("head", head) - mean_logarithm("base", base))
        self._decision = self._decide()
        return self._decision

    def _append(self, difference: float) -> None:
        self._scales.append(sign_bets.next_scale(np.array(self._differences), self._guess))
        self._differences.append(difference)

    def _decide(self) -> SequentialDecision:
        values, scales = np.array(self._differences), np.array(self._scales)
        first, second = np.triu_indices(len(values))
        # Hodges and Lehmann (1963): the median of the means of all pairs, robust to spikes.
        middle = float(np.median((values[first] + values[second]) / 2.0))
        low, high = sign_bets.interval(values, scales, self._confidence)
        # Noise that changes its centre may refute every value from both sides.
        ends = min(low, middle), max(high, middle)
        effect = math.expm1(min(middle, LARGEST_EXPONENT))
        interval = (
            math.expm1(min(ends[0], LARGEST_EXPONENT)),
            math.expm1(min(ends[1], LARGEST_EXPONENT)) if math.isfinite(ends[1]) else math.inf,
        )
        verdict = judge(effect, interval, self._smallest_effect, self._better)
        done = verdict != "undecided" or len(values) >= self._limit
        return SequentialDecision(len(values), effect, interval, verdict, done)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole comparison as plain dicts, lists, strings and numbers."""
        return {
            "smallest_effect": self._smallest_effect,
            "limit": self._limit,
            "better": self._better,
            "confidence": self._confidence,
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
            )
            differences = [float(x) for x in tree["differences"]]
            if len(differences) > copy._limit or not np.all(np.isfinite(differences)):
                raise ValueError("the state has too many differences, or one that is not finite")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"the saved state of the sequential comparison is invalid: {error!r}"
            ) from error
        for difference in differences:
            copy._append(difference)
        if differences:
            copy._decision = copy._decide()
        return copy

    def to_json(self) -> str:
        """Return the whole comparison as standard JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a comparison back from the text of :meth:`to_json`."""
        return cls.from_dict(json.loads(text))


def mean_logarithm(name: str, levels: float | Sequence[float] | Floats) -> float:
    """Return the mean logarithm of one side's values in a block."""
    return float(np.mean(logarithms(name, levels)))


def logarithms(name: str, levels: float | Sequence[float] | Floats) -> Floats:
    """Return the logarithms of one side's values in a block.

    Raises ValueError, with a message of one sentence that has the ``name`` of the side, if there is
    no level, or if a level is not above zero or beyond 1e300.
    """
    try:
        given = np.atleast_1d(np.array(levels, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or a list of numbers, not {levels!r}") from None
    if given.ndim != 1 or not len(given):
        raise ValueError(f"{name} must be a number or a list of numbers, not {levels!r}")
    if not np.all((given > 0.0) & (given <= LARGEST)):
        raise ValueError(
            f"{name} must be above 0 and at most {LARGEST:g}, not {levels!r}: a ratio needs "
            "positive levels"
        )
    return np.asarray(np.log(given), dtype=np.float64)
