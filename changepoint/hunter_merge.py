"""The second pass of Hunter: candidates are dropped, the weakest first, until all are strong."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from changepoint.hunter_ttest import statistic
from changepoint.jit import compiled
from changepoint.series import Floats, Ints

UNTESTED = 3
"""Values that a t-test needs; the p-value of fewer is 1."""


@compiled
def magnitude(before: float, after: float) -> float:
    """The relative change seen from the side from which it is larger; none from a side at 0."""
    forward = after / before - 1.0 if before != 0.0 else 0.0
    backward = before / after - 1.0 if after != 0.0 else 0.0
    return max(abs(forward), abs(backward))


@compiled
def compare(
    values: Floats, points: Ints, which: Ints, degrees_lost: int, resolution: float
) -> tuple[Floats, Ints, Floats]:
    """Test some points against their neighbours: |t|, values tested, magnitude, each (k,).

    points: (m,) the first values after changes, in order. which: (k,) places in ``points``.
    """
    t = np.empty(len(which))
    counts = np.empty(len(which), dtype=np.int64)
    sizes = np.empty(len(which))
    for k, i in enumerate(which):
        start = points[i - 1] if i > 0 else 0
        stop = points[i + 1] if i + 1 < len(points) else len(values)
        left, right = values[start : points[i]], values[points[i] : stop]
        t[k], before, after = statistic(left, right, degrees_lost, resolution)
        counts[k] = stop - start
        sizes[k] = magnitude(before, after)
    return t, counts, sizes


@compiled
def weakest(pvalues: Floats, sizes: Floats, max_pvalue: float, min_magnitude: float) -> int:
    """The point to drop next, or -1 when all are to stay.

    That with the largest p-value if it is at or above the limit, otherwise the smallest change if
    it is not above ``min_magnitude``; of equals the first. A nan is larger and smaller than
    nothing: it is chosen only in first place. So is Otava's, whose points therefore may keep one.
    """
    largest = 0
    smallest = 0
    for i in range(1, len(pvalues)):
        if pvalues[i] > pvalues[largest]:
            largest = i
        if sizes[i] < sizes[smallest]:
            smallest = i
    if not pvalues[largest] < max_pvalue:
        return largest
    return -1 if sizes[smallest] > min_magnitude else smallest


def merge(
    values: Floats,
    candidates: Ints,
    max_pvalue: float,
    min_magnitude: float,
    *,
    corrected: bool,
    resolution: float,
) -> tuple[Ints, Floats]:
    """The points that stay, in order, and their p-values.

    values: (n,) finite. candidates: (m,) first values after possible changes. corrected: test
    both neighbours of a dropped point again (Otava tests the next two instead), divide variances
    by n - 1, and multiply p-values by the number of places where the change could have been.
    """
    points = candidates
    degrees_lost = int(corrected)

    def test(which: Ints) -> tuple[Floats, Floats]:
        t, counts, sizes = compare(values, points, which, degrees_lost, resolution)
        pvalues = np.where(counts < UNTESTED, 1.0, 2.0 * stdtr(counts - 2.0, -t))
        return np.minimum(pvalues * (counts - 1), 1.0) if corrected else pvalues, sizes

    pvalues, sizes = test(np.arange(len(points)))
    while len(points):
        dropped = weakest(pvalues, sizes, max_pvalue, min_magnitude)
        if dropped < 0:
            break
        points = np.delete(points, dropped)
        pvalues, sizes = np.delete(pvalues, dropped), np.delete(sizes, dropped)
        # What followed the dropped point is now at its place.
        neighbours = np.array((dropped - 1, dropped) if corrected else (dropped, dropped + 1))
        again = neighbours[(neighbours >= 0) & (neighbours < len(points))]
        pvalues[again], sizes[again] = test(again)
    return points, pvalues
