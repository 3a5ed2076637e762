"""The default method's state of a series of single values, which grows by values at its end.

A whole search and a search of a series that has grown go through the same state and the same
compiled search, so that they give the same to the last bit.
"""

from __future__ import annotations

import numpy as np

from changepoint.inner import Inner, inner_of
from changepoint.jit import compiled
from changepoint.memo import Memo, memo_of, stretch
from changepoint.modes import two_modes
from changepoint.scan import (
    TAIL,
    Sums,
    clipped_share,
    rough_scale,
    set_clipped,
    sums_of,
)
from changepoint.segment import search
from changepoint.segment_modes import search_modes
from changepoint.series import RESOLUTION, Floats, Ints

REPEATS = 0.5
"""Share of neighbours that are equal from which on values count as quantised: then no deviation
below half the smallest difference is believed, as nobody can have seen one."""


@compiled
def equal_neighbours(values: Floats) -> int:
    """How many values are equal to the one before."""
    equal = 0
    for i in range(1, len(values)):
        equal += abs(values[i] - values[i - 1]) <= RESOLUTION
    return equal


@compiled
def floor_of(values: Floats, equal: int) -> float:
    """The smallest deviation there can be: half the quantum if most neighbours are equal.

    values: (n,), n >= 2. equal: how many are equal to the one before.
    """
    if equal < REPEATS * (len(values) - 1):
        return RESOLUTION
    ordered = np.sort(values)
    smallest = np.inf
    for i in range(1, len(ordered)):
        gap = ordered[i] - ordered[i - 1]
        if RESOLUTION < gap < smallest:
            smallest = gap
    return max(0.5 * smallest, RESOLUTION) if smallest < np.inf else RESOLUTION


@compiled
def changes(
    values: Floats, limit: float, floor: float, least: int, leeway: float
) -> tuple[Ints, Floats]:
    """The changes of a series of single values, in one go: places and strengths.

    values: (n,), n >= 2. limit: least strength of a change. floor: smallest deviation there can
    be. least: values of a side. leeway: factor of what a value may stick out by.
    """
    y, sums, scale = prepared(values, floor, leeway)
    memo = memo_of(y, sums)
    inner = inner_of(sums, memo[2], least)
    share = clipped_share(values, y, scale * leeway)
    return searched(values, y, sums, (scale, share), limit, floor, least, memo, inner)


@compiled
def changes_of_scores(
    scores: Floats, limit: float, floor: float, least: int
) -> tuple[Ints, Floats]:
    """The same for values that are scores.

    Nothing is clipped, their noise has one mode, and their caller guards against heavy tails.
    """
    sums = sums_of(scores)
    memo = memo_of(scores, sums)
    inner = inner_of(sums, memo[2], least)
    sizes = (0.0, floor * floor, 0.0)
    return search(scores, scores, sums, np.inf, limit, sizes, least, memo, inner)


@compiled
def prepared(values: Floats, floor: float, leeway: float) -> tuple[Floats, Sums, float]:
    """Clipped values (n,), their running sums, and the robust deviation."""
    n = len(values)
    scale = max(rough_scale(values), floor)
    y = np.empty(n)
    set_clipped(values, scale * leeway, 0, y)
    return y, sums_of(y), scale


@compiled
def searched(
    values: Floats,
    y: Floats,
    sums: Sums,
    noise: tuple[float, float],
    limit: float,
    floor: float,
    least: int,
    memo: Memo,
    inner: Inner,
) -> tuple[Ints, Floats]:
    """The same for what has been prepared.

    y: (n,) clipped values. sums: their running sums. noise: robust deviation of the values, and
    share of clipped ones. memo, inner: what is known of stretches and inner intervals.
    """
    scale, share = noise
    sizes = (share, floor * floor, TAIL)
    places, strengths = search(values, y, sums, scale, limit, sizes, least, memo, inner)
    edges = np.concatenate((np.zeros(1, np.int64), places, np.array([len(y)])))
    finer, rest = _with_next(y, sums, edges, least, memo)
    modes = two_modes(y, sums, finer, rest)
    if modes[2] > 0.0:
        return search_modes(y, sums, modes, limit, sizes, least, inner)
    return places, strengths


@compiled
def _with_next(y: Floats, sums: Sums, edges: Ints, least: int, memo: Memo) -> tuple[Ints, float]:
    """The edges and the best split that did not pass, and the squared error that is then left.

    If that split is a change, noise around it is plainer.
    """
    best = 0.0
    at = -1
    segment = -1
    left = 0.0
    for s in range(len(edges) - 1):
        gain, place, rest, _, _ = stretch(y, sums, edges[s], edges[s + 1], least, memo)
        left += rest
        if gain > best:
            best, at, segment = gain, place, s
    if at < 0:
        return edges, left
    finer = np.concatenate((edges[: segment + 1], np.array([at]), edges[segment + 1 :]))
    return finer, max(left - best, 0.0)
