"""How a comparison tests each kind of change: of the level, of the spread, or of an SLA."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from changepoint import (
    Better,
    GroupSequential,
    SequentialDecision,
    ShareSequential,
    SpreadSequential,
)
from changepoint.comparison.share_sequential import HALF
from changepoint.detection.spread import SMALLEST_RATIO
from pipeline.model import RegressionKind
from pipeline.model.metrics import is_worse
from pipeline.storage.derive.background import SUSTAINED

QUIET = 0.5
"""Standard deviations below this share of the smallest effect count as equal when spreads are
compared: it does not matter if noise of a tenth of a percent doubles."""


class BlockComparison(Protocol):
    """A comparison of two sides that gets the results of one block of runs at a time."""

    @property
    def decision(self) -> SequentialDecision:
        """What the blocks so far decide: a difference, none, or not yet."""
        ...

    def add(
        self, base: float | Sequence[float], head: float | Sequence[float]
    ) -> SequentialDecision:
        """Add the results of one block of runs."""
        ...


@dataclass(frozen=True)
class ComparisonKind(ABC):
    """How to compare two sides for one kind of change of a metric.

    ``smallest_effect`` is the smallest relative change of a level that matters; ``blocks`` is the
    maximum number of blocks.
    """

    metric: str
    smallest_effect: float
    blocks: int

    ends_undecided = False
    """Whether a metric stays undecided, rather than "not shown", if all blocks showed no change."""

    @property
    @abstractmethod
    def better(self) -> Better:
        """The direction in which a change is good: higher or lower."""

    @property
    @abstractmethod
    def smallest(self) -> tuple[float, float]:
        """The smallest effects that matter, downwards and upwards."""

    @abstractmethod
    def comparison(self, confidence: float) -> BlockComparison:
        """Return a new comparison, without any runs yet."""

    @staticmethod
    @abstractmethod
    def format_effect(effect: float) -> str:
        """Format an effect of this kind as text."""

    def has(self, levels: Sequence[float]) -> bool:
        """Whether these values can be compared: not if one is zero, as there is no ratio then."""
        return 0.0 not in levels

    def visible(self, low: float, high: float) -> float:
        """Return the smallest effect that an interval as wide as this one can show, or infinity."""
        if low <= -1.0 or not math.isfinite(high):
            return math.inf
        return math.sqrt((1.0 + high) / (1.0 + low)) - 1.0


class OfLevel(ComparisonKind):
    """Compare the levels of a metric: its typical value on both sides."""

    ends_undecided = True

    @property
    def better(self) -> Better:
        """The direction in which the metric itself is good."""
        return "lower" if is_worse(self.metric, 1.0) else "higher"

    @property
    def smallest(self) -> tuple[float, float]:
        """The smallest effect that matters, in either direction."""
        return -self.smallest_effect, self.smallest_effect

    def comparison(self, confidence: float) -> GroupSequential:
        """Return a new comparison of two levels."""
        return GroupSequential(
            smallest_effect=self.smallest_effect,
            limit=self.blocks,
            better=self.better,
            confidence=confidence,
        )

    @staticmethod
    def format_effect(effect: float) -> str:
        """Format the relative change of a level as a percentage."""
        return f"{effect:+.1%}"


class OfSpread(ComparisonKind):
    """Compare the spread between runs: the relative change of the standard deviation."""

    @property
    def better(self) -> Better:
        """Less spread is better, whatever the metric is."""
        return "lower"

    @property
    def smallest(self) -> tuple[float, float]:
        """The smallest change of spread that detection reports."""
        return 1.0 / SMALLEST_RATIO - 1.0, SMALLEST_RATIO - 1.0

    def comparison(self, confidence: float) -> SpreadSequential:
        """Return a new comparison of two spreads."""
        return SpreadSequential(
            smallest_ratio=SMALLEST_RATIO,
            floor=QUIET * self.smallest_effect,
            limit=self.blocks,
            confidence=confidence,
        )

    @staticmethod
    def format_effect(effect: float) -> str:
        """Format the relative change of a spread as a percentage."""
        return f"{effect:+.0%} spread"


class OfSla(ComparisonKind):
    """Compare how often an SLA is met: the difference of the shares of runs that meet it."""

    @property
    def better(self) -> Better:
        """Meeting the SLA in more runs is better."""
        return "higher"

    @property
    def smallest(self) -> tuple[float, float]:
        """The smallest difference of shares that matters: half of the runs."""
        return -HALF, HALF

    def comparison(self, confidence: float) -> ShareSequential:
        """Return a new comparison of the shares of runs that meet their SLA."""
        return ShareSequential(threshold=SUSTAINED, limit=self.blocks, confidence=confidence)

    @staticmethod
    def format_effect(effect: float) -> str:
        """Format a difference between the shares of runs that meet their SLA."""
        if effect == 0.0:
            return "kept as often"
        return f"kept in {abs(effect):.0%} {'more' if effect > 0 else 'fewer'} of the runs"

    def has(self, levels: Sequence[float]) -> bool:
        """Whether these values can be compared: always, because zero means a missed SLA."""
        return True

    def visible(self, low: float, high: float) -> float:
        """Return the smallest visible difference of shares: half the width of the interval."""
        return (high - low) / 2.0


KINDS: dict[RegressionKind, type[ComparisonKind]] = {
    RegressionKind.LEVEL: OfLevel,
    RegressionKind.SPREAD: OfSpread,
    RegressionKind.SLA: OfSla,
    RegressionKind.CREEP: OfLevel,
}
