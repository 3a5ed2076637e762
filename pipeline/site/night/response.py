"""The chart of a step's response times in a night's report."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from pipeline.site.format import short
from pipeline.site.night.data import Histogram, StepData
from pipeline.workloads.base.histogram import published_histogram

_PER_DOUBLING = 4
"""Number of curve points for each doubling of the response time."""


def responses(data: StepData) -> dict[int, dict[str, Any]]:
    """Return the response times of a step for the page, by revision.

    All repetitions are combined, without those that failed or failed their SLA. ``buckets`` is the
    share of operations in each published bucket, ``t`` and ``slower`` are milliseconds and the
    share of operations that took longer, ``max`` is the longest response time.
    """
    found: dict[int, Counter[float]] = {}
    longest: dict[int, float] = {}
    for run in data.runs:
        if run.failed or run.sla_failed or not run.histogram:
            continue
        counts = found.setdefault(run.position, Counter())
        for bound, count in run.histogram:
            counts[bound] += count
        longest[run.position] = max(
            longest.get(run.position, 0.0),
            run.values.get("latency_max", run.histogram[-1][0]),
        )
    return {
        position: _document(sorted(counts.items()), longest[position])
        for position, counts in found.items()
    }


def shares(histogram: Histogram) -> list[float]:
    """Return the share of operations in each published bucket of response times."""
    counts = published_histogram(histogram)
    total = sum(counts)
    return [count / total for count in counts]


def slower(histogram: Histogram) -> list[tuple[float, float]]:
    """Return the share of operations that took longer, for each of some times in milliseconds.

    The times are bounds of the histogram, where the shares are exact. Bounds close to the next
    higher one are left out.
    """
    left = total = sum(count for _, count in histogram)
    kept: dict[int, tuple[float, float]] = {}
    for upper, count in histogram:
        left -= count
        # The last bound of each quarter of a doubling.
        kept[math.floor(_PER_DOUBLING * math.log2(upper))] = (upper, left / total)
    return list(kept.values())


def _document(histogram: Histogram, longest: float) -> dict[str, Any]:
    curve = slower(histogram)
    return {
        "buckets": [short(share) for share in shares(histogram)],
        "t": [short(at) for at, _ in curve],
        "slower": [short(share) for _, share in curve],
        "max": short(longest),
        "operations": sum(count for _, count in histogram),
    }
