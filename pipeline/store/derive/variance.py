"""How much the throughput of a step varied while it was measured."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

from pipeline.model import TimePoint

SHORTEST_TIMELINE = 10
"""Seconds of throughput below which its variance says more of the clock than of the DBMS."""

STALL = 0.1
"""A second whose throughput is below this part of the median counts as stalled."""


def variance(timeline: Sequence[TimePoint]) -> dict[str, float]:
    """Return the metrics of the variance; none for a step too short to have them."""
    rates = [point.ops_per_second for point in timeline]
    if len(rates) < SHORTEST_TIMELINE:
        return {}
    mean, median = statistics.fmean(rates), statistics.median(rates)
    if mean <= 0:
        return {}
    spacing = [b.at - a.at for a, b in itertools.pairwise(timeline)]
    longest, current = 0.0, 0.0
    for rate, seconds in zip(rates, [spacing[0], *spacing], strict=True):
        # Where most seconds stand still, the median is zero and nothing is below it.
        stalled = rate < STALL * median or rate == 0
        current = current + seconds if stalled else 0.0
        longest = max(longest, current)
    # Not statistics.stdev: its exact fractions take a hundred times as long.
    spread = sum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1)
    return {
        "qps_cv": math.sqrt(spread) / mean,
        "qps_p1": _quantile(sorted(rates), 0.01),
        "stall_s": longest,
    }


def _quantile(ordered: Sequence[float], q: float) -> float:
    """Return a quantile of ascending values, interpolated linearly between two of them."""
    below, share = divmod(q * (len(ordered) - 1), 1.0)
    at = int(below)
    return ordered[at] + share * (ordered[min(at + 1, len(ordered) - 1)] - ordered[at])
