"""How changes of each kind are compared in blocks: of a level, of its spread, of an SLA."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from changepoint import Better, Decision, GroupSequential, ShareSequential, SpreadSequential
from changepoint.share_sequential import HALF
from changepoint.spread import SMALLEST_RATIO
from pipeline.metrics import is_worse
from pipeline.model import RegressionKind
from pipeline.store.derive.background import SUSTAINED

QUIET = 0.5
"""Share of the smallest effect below which the deviations of all runs are alike: a noise of a tenth
of a percent that has doubled is of no interest."""


class Comparison(Protocol):
    """What is fed with blocks and says what is known."""

    @property
    def decision(self) -> Decision:
        """What is known after the blocks added so far."""
        ...

    def add(self, base: float | Sequence[float], head: float | Sequence[float]) -> Decision:
        """Add the runs of a block."""
        ...


@dataclass(frozen=True)
class Kind(ABC):
    """One kind of change of a metric.

    ``smallest_effect`` is the smallest relative change of a level that matters, ``blocks`` the
    number after which a comparison is spent.
    """

    metric: str
    smallest_effect: float
    blocks: int

    ends_undecided = False
    """Whether a change that has not shown after all blocks is left open."""

    @property
    @abstractmethod
    def better(self) -> Better:
        """Which way of the effect is good."""

    @property
    @abstractmethod
    def smallest(self) -> tuple[float, float]:
        """The effects of interest: those that are at most the first, or at least the second."""

    @abstractmethod
    def comparison(self, confidence: float) -> Comparison:
        """Return a comparison without a block."""

    @staticmethod
    @abstractmethod
    def told(effect: float) -> str:
        """Write an effect."""

    def has(self, levels: Sequence[float]) -> bool:
        """Say whether these levels can be compared: of zero there is no ratio."""
        return 0.0 not in levels

    def visible(self, low: float, high: float) -> float:
        """Return half of the width of an interval, as an effect: what could have been shown."""
        if low <= -1.0 or not math.isfinite(high):
            return math.inf
        return math.sqrt((1.0 + high) / (1.0 + low)) - 1.0


class OfLevel(Kind):
    """A change of the level of a metric."""

    ends_undecided = True

    @property
    def better(self) -> Better:
        """As the metric has it."""
        return "lower" if is_worse(self.metric, 1.0) else "higher"

    @property
    def smallest(self) -> tuple[float, float]:
        """The smallest effect, either way."""
        return -self.smallest_effect, self.smallest_effect

    def comparison(self, confidence: float) -> GroupSequential:
        """Return a comparison of levels."""
        return GroupSequential(
            smallest_effect=self.smallest_effect,
            limit=self.blocks,
            better=self.better,
            confidence=confidence,
        )

    @staticmethod
    def told(effect: float) -> str:
        """Write an effect as a percentage."""
        return f"{effect:+.1%}"


class OfSpread(Kind):
    """A change of how far the runs are apart; the effect is that of the standard deviation."""

    @property
    def better(self) -> Better:
        """Less spread is better, whatever the metric."""
        return "lower"

    @property
    def smallest(self) -> tuple[float, float]:
        """The smallest that is detected."""
        return 1.0 / SMALLEST_RATIO - 1.0, SMALLEST_RATIO - 1.0

    def comparison(self, confidence: float) -> SpreadSequential:
        """Return a comparison of spreads."""
        return SpreadSequential(
            smallest_ratio=SMALLEST_RATIO,
            floor=QUIET * self.smallest_effect,
            limit=self.blocks,
            confidence=confidence,
        )

    @staticmethod
    def told(effect: float) -> str:
        """Write an effect as a percentage of the spread."""
        return f"{effect:+.0%} spread"


class OfSla(Kind):
    """A change of how often an SLA is kept; the effect is the difference of the shares of runs."""

    @property
    def better(self) -> Better:
        """An SLA is to be kept."""
        return "higher"

    @property
    def smallest(self) -> tuple[float, float]:
        """A half: what is detected are medians."""
        return -HALF, HALF

    def comparison(self, confidence: float) -> ShareSequential:
        """Return a comparison of the shares of runs that keep their SLA."""
        return ShareSequential(threshold=SUSTAINED, limit=self.blocks, confidence=confidence)

    @staticmethod
    def told(effect: float) -> str:
        """Write an effect as the share of runs."""
        if effect == 0.0:
            return "kept as often"
        return f"kept in {abs(effect):.0%} {'more' if effect > 0 else 'fewer'} of the runs"

    def has(self, levels: Sequence[float]) -> bool:
        """Of no work at all an SLA is missed."""
        return True

    def visible(self, low: float, high: float) -> float:
        """Return half of the width of an interval of shares."""
        return (high - low) / 2.0


KINDS: dict[RegressionKind, type[Kind]] = {
    RegressionKind.LEVEL: OfLevel,
    RegressionKind.SPREAD: OfSpread,
    RegressionKind.SLA: OfSla,
}
