"""Draw a line from fewer points without visible difference: peaks and dips are kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Points = Sequence[Sequence[float]]
"""(seconds, value) in the order of time."""

FEWEST = 4
"""Minimum number of kept points: the two ends, and the minimum and maximum between them."""


def thin(points: Points, most: int) -> list[Sequence[float]]:
    """Return at most ``most`` points of a line that look the same when drawn.

    First, inner points of horizontal parts are removed. If there are still too many points, the
    line is divided into parts with equal numbers of points, and the minimum and maximum of each
    part are kept at their places. The first and the last point are always kept. This is the min-max
    aggregation of Jugel and others, "M4: a visualization-oriented time series data aggregation",
    VLDB 2014.
    """
    kept = without_level(points)
    if len(kept) <= max(FEWEST, most):
        return kept
    inner = kept[1:-1]
    stretches = max(1, (most - 2) // 2)
    bounds = [len(inner) * number // stretches for number in range(stretches + 1)]
    chosen = [point for start, end in pairwise(bounds) for point in _ends(inner[start:end])]
    return [kept[0], *chosen, kept[-1]]


def without_level(points: Points) -> list[Sequence[float]]:
    """Return a line without the inner points of horizontal parts."""
    if len(points) < 3:
        return list(points)
    inner = (
        here
        for before, here, after in zip(points, points[1:], points[2:], strict=False)
        if not before[1] == here[1] == after[1]
    )
    return [points[0], *inner, points[-1]]


def _ends(points: Points) -> list[Sequence[float]]:
    """Return the lowest and the highest of some points, in order of time."""
    values = [value for _, value in points]
    places = {values.index(min(values)), values.index(max(values))}
    return [points[place] for place in sorted(places)]
