"""How much the throughput of a step varies from second to second."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from pipeline.model import TimePoint
from pipeline.storage.derive.stalls import stalls

SHORTEST_TIMELINE = 10
"""The minimum length of a timeline in values. The variance of fewer values depends more on the
timing of the reports than on the DBMS."""


def variance(timeline: Sequence[TimePoint]) -> dict[str, float]:
    """Return the metrics about the variation of throughput; empty if the step is too short."""
    rates = [point.ops_per_second for point in timeline]
    if len(rates) < SHORTEST_TIMELINE:
        return {}
    mean = statistics.fmean(rates)
    if mean <= 0:
        return {}
    stalled = stalls([(point.at, point.ops_per_second) for point in timeline])
    # Not statistics.stdev: its exact fractions take a hundred times as long.
    spread = sum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1)
    return {
        "qps_cv": math.sqrt(spread) / mean,
        "qps_p1": _quantile(sorted(rates), 0.01),
        "stall_s": max((until - since for since, until in stalled), default=0.0),
    }


def _quantile(ordered: Sequence[float], q: float) -> float:
    """Return a quantile of ascending values; interpolate between neighbours."""
    below, share = divmod(q * (len(ordered) - 1), 1.0)
    at = int(below)
    return ordered[at] + share * (ordered[min(at + 1, len(ordered) - 1)] - ordered[at])
