"""The latency histogram of sysbench: its buckets and percentiles.

From src/sb_logger.c of sysbench 1.0.20: 1024 buckets whose widths are equal on a logarithmic scale
(1.8 %), with centres from 0.001 to 100000 ms.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

BUCKETS: Final = 1024
_FIRST_MS: Final = 1e-3
_LAST_MS: Final = 1e5
_LOG_STEP: Final = math.log(_LAST_MS / _FIRST_MS) / (BUCKETS - 1)

Histogram = tuple[tuple[float, int], ...]
"""Pairs (upper edge of the bucket in milliseconds, number of events), ascending."""

PUBLISHED_EDGES_MS: Final = (0.256, 1.0, 4.0, 16.0, 64.0, 256.0, 1000.0, 4000.0, 16000.0)
"""Upper edges of the buckets of the published response times, in ms; the last bucket is open."""

PERCENTILES: Final = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
"""The percentiles that are kept for every step."""


def centre_ms(bucket: int) -> float:
    """Return the middle of a bucket of sysbench's histogram, in milliseconds."""
    return math.exp(bucket * _LOG_STEP + math.log(_FIRST_MS))


def upper_ms(bucket: int) -> float:
    """Return the upper end of a bucket of sysbench's histogram, in milliseconds."""
    return _FIRST_MS * math.exp((bucket + 0.5) * _LOG_STEP)


def published_histogram(histogram: Sequence[tuple[float, int]]) -> tuple[int, ...]:
    """Return how many operations are in each of the published latency buckets.

    A finer bucket that crosses an edge of a published bucket is counted above the edge.
    """
    counts = [0] * (len(PUBLISHED_EDGES_MS) + 1)
    for upper, count in histogram:
        counts[bisect_left(PUBLISHED_EDGES_MS, upper)] += count
    return tuple(counts)


def percentile(histogram: Sequence[tuple[float, int]], q: float, max_ms: float) -> float:
    """Return the latency (ms) that the share ``q`` of operations does not exceed.

    Latencies within a bucket are assumed to be evenly spread on a logarithmic scale, so that the
    result changes smoothly and not in steps of a bucket's width. The topmost bucket ends at
    ``max_ms``, the largest latency. Raises ValueError for an empty histogram or a ``q`` outside of
    0..1.
    """
    held = [(edge, count) for edge, count in histogram if count > 0]
    if not held:
        raise ValueError("a histogram without events has no percentiles")
    if not 0 <= q <= 1:
        raise ValueError(f"the quantile {q} is not within 0..1")
    reached = list(accumulate(count for _, count in held))
    wanted = q * reached[-1]
    at = bisect_left(reached, wanted, hi=len(held) - 1)
    edge, count = held[at]
    upper = edge if at < len(held) - 1 else max_ms
    return _within(edge, upper, (wanted - reached[at] + count) / count, max_ms)


def latencies(histogram: Histogram, average_ms: float, max_ms: float) -> dict[str, float]:
    """Return mean, percentiles and maximum of the latency in milliseconds, by name."""
    kept = {name: percentile(histogram, q, max_ms) for name, q in PERCENTILES.items()}
    return {"avg": average_ms, **kept, "max": max_ms}


def _within(edge: float, upper: float, share: float, max_ms: float) -> float:
    """Return the latency within a bucket that a share of its operations does not exceed."""
    upper = min(upper, max_ms)
    lower = min(edge * math.exp(-_LOG_STEP), upper)
    return lower * math.pow(upper / lower, share) if lower > 0 else upper
