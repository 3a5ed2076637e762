"""Comparisons in blocks by kind of change: level, spread or SLA."""

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
"""Share of the smallest effect below which all deviations count as equal. A doubled noise of a
tenth of a percent is of no interest."""


class BlockComparison(Protocol):
    """A sequential comparison fed with blocks."""

    @property
    def decision(self) -> SequentialDecision:
        """The decision after the blocks added so far."""
        ...

    def add(
        self, base: float | Sequence[float], head: float | Sequence[float]
    ) -> SequentialDecision:
        """Add the runs of a block."""
        ...


@dataclass(frozen=True)
class ComparisonKind(ABC):
    """The comparison of one kind of change of a metric.

    ``smallest_effect`` is the smallest relative change of a level that matters; ``blocks`` is the
    maximum number of blocks.
    """

    metric: str
    smallest_effect: float
    blocks: int

    ends_undecided = False
    """Whether a change not shown after all blocks stays undecided."""

    @property
    @abstractmethod
    def better(self) -> Better:
        """The direction in which the effect is good."""

    @property
    @abstractmethod
    def smallest(self) -> tuple[float, float]:
        """The effects of interest: at most the first value, or at least the second."""

    @abstractmethod
    def comparison(self, confidence: float) -> BlockComparison:
        """Return an empty comparison."""

    @staticmethod
    @abstractmethod
    def format_effect(effect: float) -> str:
        """Format an effect."""

    def has(self, levels: Sequence[float]) -> bool:
        """Whether these levels can be compared: zero has no ratio."""
        return 0.0 not in levels

    def visible(self, low: float, high: float) -> float:
        """Return half the width of an interval as an effect: the smallest visible change."""
        if low <= -1.0 or not math.isfinite(high):
            return math.inf
        return math.sqrt((1.0 + high) / (1.0 + low)) - 1.0


class OfLevel(ComparisonKind):
    """A change of the level of a metric."""

    ends_undecided = True

    @property
    def better(self) -> Better:
        """The metric's own direction."""
        return "lower" if is_worse(self.metric, 1.0) else "higher"

    @property
    def smallest(self) -> tuple[float, float]:
        """The smallest effect in either direction."""
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
    def format_effect(effect: float) -> str:
        """Format an effect as a percentage."""
        return f"{effect:+.1%}"


class OfSpread(ComparisonKind):
    """A change of the spread between runs; the effect is on the standard deviation."""

    @property
    def better(self) -> Better:
        """Less spread is better, whatever the metric."""
        return "lower"

    @property
    def smallest(self) -> tuple[float, float]:
        """The smallest effect that detection reports."""
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
    def format_effect(effect: float) -> str:
        """Format an effect as a percentage of the spread."""
        return f"{effect:+.0%} spread"


class OfSla(ComparisonKind):
    """A change of how often an SLA is met; the effect is the difference in the share of runs."""

    @property
    def better(self) -> Better:
        """A higher share of met SLAs is better."""
        return "higher"

    @property
    def smallest(self) -> tuple[float, float]:
        """A half, because detection compares medians."""
        return -HALF, HALF

    def comparison(self, confidence: float) -> ShareSequential:
        """Return a comparison of the shares of runs that meet their SLA."""
        return ShareSequential(threshold=SUSTAINED, limit=self.blocks, confidence=confidence)

    @staticmethod
    def format_effect(effect: float) -> str:
        """Format an effect as a share of runs."""
        if effect == 0.0:
            return "kept as often"
        return f"kept in {abs(effect):.0%} {'more' if effect > 0 else 'fewer'} of the runs"

    def has(self, levels: Sequence[float]) -> bool:
        """An SLA level of zero is a missed SLA, and comparable."""
        return True

    def visible(self, low: float, high: float) -> float:
        """Return half the width of an interval of shares."""
        return (high - low) / 2.0


KINDS: dict[RegressionKind, type[ComparisonKind]] = {
    RegressionKind.LEVEL: OfLevel,
    RegressionKind.SPREAD: OfSpread,
    RegressionKind.SLA: OfSla,
    RegressionKind.CREEP: OfLevel,
}
