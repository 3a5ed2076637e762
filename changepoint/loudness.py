"""How loud a series is where: normal scores of the deviations of its values.

Deviations are those of a value from its neighbours, or of replicates from their position. A
change of scale of the values is a change of level of these scores, whatever the tails are.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from changepoint.jit import compiled
from changepoint.scan import NORMAL_MEDIAN
from changepoint.series import RESOLUTION, Floats, Ints

NEIGHBOURS = 11
"""Values around one, itself included, whose median it is compared with: few enough that a drift
or a step that is not found yet moves the median along, enough that the median hardly moves with
the value itself."""

OUTSIDE = 2.5
"""Robust deviations beyond which the values at the very end may be a step too young to be found.
At 3.7 the first values of a step of five deviations would often not count as one."""

CLIP = 3.7
"""Robust deviations beyond which a deviation counts no further for a mean or a correlation."""


@compiled
def neighbour_medians(values: Floats, edges: Ints) -> Floats:
    """The median of the ``NEIGHBOURS`` values around each, (n,), inside its segment.

    edges: (segments + 1,). At the ends of a segment the window stays inside it; in a shorter
    segment it is the segment.
    """
    out = np.empty(len(values))
    # The values of a window in order, between guards; and the same without the one that leaves.
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
        # Only a window of the full size moves. Every value is chosen anew, by one of two that are
        # both at hand: a jump that depends on the values would be guessed wrong every other time.
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
    """A robust standard deviation of values (n,) around the medians of their neighbours."""
    away = np.empty(len(values))
    for i in range(len(values)):
        away[i] = abs(values[i] - middles[i])
    return float(np.median(away)) / NORMAL_MEDIAN


@compiled
def settled(values: Floats, middles: Floats, scale: float) -> int:
    """How many of the values (n,) are left without those at the end that may be a young step.

    A step is found when it is some nights old. Until then its values are far from their
    neighbours, all to the same side; but so is only every second of values that vary more.
    """
    last = values[-1] - middles[-1]
    for kept in range(len(values), 0, -1):
        away = values[kept - 1] - middles[kept - 1]
        if away * last <= 0.0 or abs(away) <= OUTSIDE * scale:
            return kept
    return 0


@compiled
def innovations(values: Floats, middles: Floats, edges: Ints, scale: float) -> Floats:
    """How far each value (n,) is from what the ones before it let expect, without sign.

    middles, scale: what ``neighbour_medians`` and ``deviation_of`` give. On a machine that drifts
    for days deviations resemble the ones before, so that loud days come in groups. What a deviation
    has of the one before, as in an autoregression of order one, is therefore taken out.
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
    # A median takes something of its values along, so of independent ones the product is
    # negative: below zero there is nothing to correct.
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
    """How far replicates are from the median of their position: deviations, offsets, medians.

    One less than there are replicates. Of an odd number one is the median and its deviation
    says nothing; of an even number the two in the middle are equally far, and one of them times
    the square root of 2 stands for both (Hines and O'Hara Hines, Biometrics 56, 2000).
    """
    positions = len(offsets) - 1
    out = np.empty(max(len(values) - positions, 0))
    bounds = np.zeros(positions + 1, np.int64)
    middles = np.empty(positions)
    size = 0
    for p in range(positions):
        own = np.sort(values[offsets[p] : offsets[p + 1]])
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
    """Ranks (n,) of values that ``order`` sorts, as shares of n; equal values share the middle.

    Values are in a unit in which differences below ``RESOLUTION`` are arithmetic.
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
    """What |z|, z standard normal, would be in the order of deviations (n,), n >= 1, none negative.

    They are all there is to know about the scale of normal values but 12 % (the squares of z would
    be all), and unlike squares they make no more of a spike than of an unlucky value.
    """
    ranks = _middle_ranks(deviations, np.argsort(deviations))
    return np.asarray(ndtri(0.5 + 0.5 * ranks), dtype=np.float64)


@compiled
def mean_deviation(deviations: Floats) -> tuple[float, float]:
    """Mean of deviations (n,), n >= 1, and its relative standard error; far ones moved back."""
    reach = CLIP / NORMAL_MEDIAN * np.median(deviations)
    kept = np.minimum(deviations, reach) if reach > 0.0 else deviations
    mean = float(np.mean(kept))
    if mean == 0.0 or len(kept) < 2:
        return mean, 0.0
    return mean, float(np.std(kept)) / mean / math.sqrt(len(kept) - 1.0)
