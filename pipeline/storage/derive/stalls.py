"""Stalls: periods of a step in which its throughput was almost zero."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

STALL = 0.1
"""A second whose throughput is below this fraction of the median is part of a stall."""


def stalls(timeline: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return every uninterrupted stall of a step as (from, to), in seconds, in order.

    ``timeline`` is (end of the interval, operations per second) and has at least two points.
    """
    median = statistics.median(rate for _, rate in timeline)
    ends = [at for at, _ in timeline]
    begins = [2 * ends[0] - ends[1], *ends]
    found: list[tuple[float, float]] = []
    for stalled, members in itertools.groupby(
        zip(begins, timeline, strict=False),
        # If most seconds have no throughput the median is zero, and nothing is below it.
        key=lambda one: one[1][1] < STALL * median or one[1][1] == 0,
    ):
        if stalled:
            whole = list(members)
            found.append((whole[0][0], whole[-1][1][0]))
    return found
