"""The compiled search of the default method, for noise that jumps between two levels (modes)."""

from __future__ import annotations

import numpy as np

from changepoint.detection.inner_intervals import Inner, set_splits
from changepoint.detection.interval_cache import memo_of
from changepoint.detection.modes import Modes, best_split, demixed, level_of, place, refit
from changepoint.detection.scan import (
    Sizes,
    Sums,
    best_gain,
    evidence,
    split_factor,
    sums_of,
)
from changepoint.detection.segment import (
    best_inner,
    inner_limit,
    parts_of,
    strengths_of,
)
from changepoint.jit import compiled
from changepoint.series import Floats, Ints

CAUTION = 1.25
"""Divisor of a strength: modes fitted around a split favour it slightly more than the normal noise
with which the limits were simulated."""


@compiled
def _split(
    y: Floats, sums: Sums, start: int, stop: int, modes: Modes, least: int
) -> tuple[float, int]:
    """Return the likeliest split of a part of a series, and twice its log likelihood ratio.

    The search is a local one, so it starts from the best split of the original values and from that
    of the values without their modes.
    """
    first = best_gain(sums[0], start, stop, least)[1]
    if first < 0:
        return -1.0, -1
    part = y[start:stop]
    ratio, at = best_split(part, first - start, modes, least)
    plain = demixed(part, np.array([0, stop - start]), modes)[0]
    total = sums_of(plain - np.mean(plain))
    other, second = best_split(part, best_gain(total[0], 0, stop - start, least)[1], modes, least)
    if other > ratio:
        ratio, at = other, second
    return ratio, start + at


@compiled
def search_modes(
    y: Floats,
    sums: Sums,
    modes: Modes,
    limit: float,
    sizes: Sizes,
    least: int,
    inner: Inner,
) -> tuple[Ints, Floats]:
    """Find the changes of a series whose noise has two modes: places and strengths.

    y: (n,) clipped values; sums: their running sums. inner: inner intervals; their precomputed
    splits are not used. The search is that of ``search``, but with likelihood ratios as evidence.
    Every change must be significant by its likelihood ratio. It must also pass the guards, which
    test the values after the offsets of their modes are removed.
    """
    smallest = sizes.smallest
    n = len(y)
    edges = np.array([0, n])
    ratios = np.empty(1)
    places = np.empty(1, np.int64)
    ratios[0], places[0] = _split(y, sums, edges[0], edges[1], modes, least)
    while True:
        degrees = max(float(n - len(edges)), 1.0)
        s, at = int(np.argmax(ratios)), int(places[np.argmax(ratios)])
        if ratios[s] <= 0.0 or evidence(ratios[s], degrees, degrees, 1.0) < limit:
            s, at = _bump(y, edges, modes, limit, sizes, least, inner)
            if s < 0:
                break
        edges = np.concatenate((edges[: s + 1], np.array([at]), edges[s + 1 :]))
        ratios = np.concatenate((ratios[: s + 1], ratios[s:]))
        places = np.concatenate((places[: s + 1], places[s:]))
        modes = refit(y, edges, modes, smallest)
        for i in range(s, s + 2):
            ratios[i], places[i] = _split(y, sums, edges[i], edges[i + 1], modes, least)
    while True:
        changes = len(edges) - 2
        modes = refit(y, edges, modes, smallest)
        levels = demixed(y, edges, modes)[1]
        for i in range(1, changes + 1):
            part = y[edges[i - 1] : edges[i + 1]]
            edges[i] = edges[i - 1] + place(part, levels[i - 1], levels[i], modes, least)
        strengths = _strengths(y, edges, modes, sizes, least)
        if changes == 0 or np.min(strengths) >= limit:
            return edges[1 : changes + 1].copy(), strengths
        weakest = np.argmin(strengths) + 1
        edges = np.concatenate((edges[:weakest], edges[weakest + 1 :]))


@compiled
def _bump(
    y: Floats,
    edges: Ints,
    modes: Modes,
    limit: float,
    sizes: Sizes,
    least: int,
    inner: Inner,
) -> tuple[int, int]:
    """Return a significant split of an inner interval after removal of the modes; -1 if none."""
    plain = demixed(y, edges, modes)[0]
    sums = sums_of(plain)
    memo = memo_of(plain, sums)
    mine = (inner[0], inner[1], np.empty_like(inner[2]), np.empty_like(inner[3]))
    set_splits(sums, memo[2], least, mine, 0)
    parts = parts_of(plain, sums, edges, least, memo)
    return best_inner(plain, sums, edges, parts, mine, sizes, inner_limit(limit))


@compiled
def _strengths(y: Floats, edges: Ints, modes: Modes, sizes: Sizes, least: int) -> Floats:
    """Return the strength of each change: the smaller of two, by likelihoods and by the guards."""
    n = len(y)
    changes = len(edges) - 2
    plain = demixed(y, edges, modes)[0]
    plain_sums = sums_of(plain)
    memo = memo_of(plain, plain_sums)
    strengths = strengths_of(plain, plain_sums, edges, sizes, least, memo)
    degrees = max(float(n - changes - 1), 1.0)
    for i in range(changes):
        k, m = float(edges[i + 1] - edges[i]), float(edges[i + 2] - edges[i + 1])
        one = level_of(y[edges[i] : edges[i + 1]], modes)[0]
        two = level_of(y[edges[i + 1] : edges[i + 2]], modes)[0]
        ratio = 2.0 * (one + two - level_of(y[edges[i] : edges[i + 2]], modes)[0])
        # A persistent mode is no independent noise: its memory shows in the original values.
        factor = split_factor(sizes.phi, sizes.near, k, m)
        found = evidence(max(ratio, 0.0), degrees, degrees, factor)
        strengths[i] = min(strengths[i], found) / CAUTION
    return strengths
