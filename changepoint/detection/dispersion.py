"""Measure how noisy a series is around each of its values, as scores that a search can compare.

Deviations are those of a value from its neighbours, or of replicates from their position. A change
of scale of the values is a change of level of these scores, whatever the tails are.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from changepoint.detection.scan import HALF_WINDOW
from changepoint.jit import compiled
from changepoint.noise import NORMAL_MEDIAN
from changepoint.series import RESOLUTION, Floats, Ints

NEIGHBOURS = HALF_WINDOW + 1 + HALF_WINDOW
"""Size of the window, including the value itself, whose median the value is compared with. The
window is small enough for its median to follow a drift or an undetected step, and large enough for
the value itself to hardly move the median."""

OUTSIDE = 2.5
"""Distance from the neighbours, in robust deviations, beyond which the last values may belong to a
step that is too recent to be found. With 3.7, the first values after a step of five deviations
would often not be recognised."""

CLIP = 3.7
"""Robust deviations at which a deviation is clipped for a mean or a correlation."""


@compiled
def neighbour_medians(values: Floats, edges: Ints) -> Floats:
    """Return for each value the median of the values around it in the same segment.

    Returns (n,): the median of the ``NEIGHBOURS`` values around each.

    edges: (segments + 1,). At the ends of a segment the window stays inside it; in a shorter
    segment it is the whole segment.
    """
    out = np.empty(len(values))
    # The values of a window in order, between guards; and the same without the value that leaves.
    window, rest = np.empty(NEIGHBOURS + 2), np.empty(NEIGHBOURS + 2)
    window[0] = rest[0] = -np.inf
    window[-1] = rest[-1] = np.inf
    for s in range(len(edges) - 1):
        start, stop = edges[s], edges[s + 1]
        size = min(NEIGHBOURS, stop - start)
        half = size // 2
        ordered = np.sort(values[start : start + size])
        for j in range(size):
            window[j + 1] = ordered[j]
        middle = 0.5 * (window[(size + 1) // 2] + window[half + 1])
        out[start : start + half + 1] = middle
        # Only a window of the full size moves. Every value is selected again from two available
        # ones: a data-dependent branch would be mispredicted every other time.
        for last in range(start + NEIGHBOURS, stop):
            leaving, entering = values[last - NEIGHBOURS], values[last]
            for j in range(1, NEIGHBOURS + 1):
                mine, above = window[j], window[j + 1]
                rest[j] = above if mine >= leaving else mine
            for j in range(1, NEIGHBOURS + 1):
                lower = rest[j] if rest[j] < entering else entering
                window[j] = lower if lower > rest[j - 1] else rest[j - 1]
            middle = window[NEIGHBOURS // 2 + 1]
            out[last - NEIGHBOURS // 2] = middle
        out[stop - size + half : stop] = middle
    return out


@compiled
def deviation_of(values: Floats, middles: Floats) -> float:
    """Return a robust standard deviation of values around the medians of their neighbours."""
    away = np.empty(len(values))
    for i in range(len(values)):
        away[i] = abs(values[i] - middles[i])
    return float(np.median(away)) / NORMAL_MEDIAN


@compiled
def settled(values: Floats, middles: Floats, scale: float) -> int:
    """Return how many values remain without those at the end that may belong to a recent step.

    A step is found when it is some nights old. Until then its values are far from their neighbours,
    all on the same side. Values with more noise are on the same side only half of the time.
    """
    last = values[-1] - middles[-1]
    for kept in range(len(values), 0, -1):
        away = values[kept - 1] - middles[kept - 1]
        if away * last <= 0.0 or abs(away) <= OUTSIDE * scale:
            return kept
    return 0


@compiled
def innovations(values: Floats, middles: Floats, edges: Ints, scale: float) -> Floats:
    """Return the absolute error of predicting each value from the values before it.

    middles, scale: results of ``neighbour_medians`` and ``deviation_of``. On a machine that drifts
    for days, deviations resemble the previous ones, so that noisy days cluster. The part predicted
    by the previous deviation, as in an autoregression of order one, is therefore removed.
    """
    n = len(values)
    reach = CLIP * scale
    away, inside = np.empty(n), np.empty(n)
    for i in range(n):
        away[i] = values[i] - middles[i]
        inside[i] = min(max(away[i], -reach), reach)
    product = 0.0
    square = 0.0
    for s in range(len(edges) - 1):
        for i in range(edges[s], edges[s + 1]):
            square += inside[i] * inside[i]
            if i > edges[s]:
                product += inside[i] * inside[i - 1]
    # A median follows its values, so the product of independent ones is negative: below zero
    # nothing needs correction.
    phi = max(product / square, 0.0) if square > 0.0 else 0.0
    out = np.empty(n)
    for s in range(len(edges) - 1):
        if edges[s] < edges[s + 1]:
            out[edges[s]] = abs(away[edges[s]]) * math.sqrt(1.0 - phi * phi)
        for i in range(edges[s] + 1, edges[s + 1]):
            out[i] = abs(away[i] - phi * away[i - 1])
    return out


@compiled
def replicate_deviations(values: Floats, offsets: Ints) -> tuple[Floats, Ints, Floats]:
    """Return by how much each replicate differs from the median of its position.

    There is one fewer deviation than replicates. Of an odd number of replicates, one is the median
    itself, and its deviation of 0 is left out. Of an even number, the two in the middle have equal
    deviations, and one deviation times the square root of 2 replaces both (Hines and O'Hara Hines,
    Biometrics 56, 2000).
    """
    positions = len(offsets) - 1
    out = np.empty(max(len(values) - positions, 0))
    bounds = np.zeros(positions + 1, np.int64)
    middles = np.empty(positions)
    size = 0
    ordered = values.copy()
    for p in range(positions):
        own = ordered[offsets[p] : offsets[p + 1]]
        own.sort()
        n = len(own)
        middle = 0.5 * (own[(n - 1) // 2] + own[n // 2])
        middles[p] = middle
        for i in range(n):
            if i != (n - 1) // 2:
                factor = math.sqrt(2.0) if n % 2 == 0 and i == n // 2 else 1.0
                out[size] = factor * abs(own[i] - middle)
                size += 1
        bounds[p + 1] = size
    return out, bounds, middles


@compiled
def _middle_ranks(values: Floats, order: Ints) -> Floats:
    """Return the rank of each value as a share of their number; equal values share a rank.

    Values are in a unit in which differences below ``RESOLUTION`` are rounding errors.
    """
    n = len(values)
    out = np.empty(n)
    i = 0
    while i < n:
        j = i + 1
        while j < n and values[order[j]] - values[order[j - 1]] <= RESOLUTION:
            j += 1
        for k in range(i, j):
            out[order[k]] = 0.5 * (i + j) / n
        i = j
    return out


def scores(deviations: Floats) -> Floats:
    """Replace each deviation by the size that a normal deviation of the same rank would have.

    Returns (n,).

    deviations: n >= 1 distances from a level. The mean of the scores of one part shows whether its
    scale is larger. They have 88 % of the efficiency of squares in normal noise, and a spike counts
    no more than the largest of normal values.
    """
    ranks = _middle_ranks(deviations, np.argsort(deviations))
    return np.asarray(ndtri(0.5 + 0.5 * ranks), dtype=np.float64)


@compiled
def mean_deviation(deviations: Floats) -> tuple[float, float]:
    """Return the mean of some deviations after clipping, and its relative standard error."""
    reach = CLIP / NORMAL_MEDIAN * np.median(deviations)
    kept = np.minimum(deviations, reach) if reach > 0.0 else deviations
    mean = float(np.mean(kept))
    if mean == 0.0 or len(kept) < 2:
        return mean, 0.0
    return mean, float(np.std(kept)) / mean / math.sqrt(len(kept) - 1.0)
