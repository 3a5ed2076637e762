"""The default method's state of a series of single values, which grows by values at its end.

A whole search and a search of a series that has grown go through the same state and the same
compiled search, so that they give the same to the last bit.
"""

from __future__ import annotations

import numpy as np

from changepoint.inner import Inner, grid, set_splits
from changepoint.jit import compiled
from changepoint.memo import Memo, new_memo, stretch
from changepoint.modes import two_modes
from changepoint.scan import (
    clipped_share,
    rough_scale,
    set_clipped,
    set_middles,
    set_sums,
)
from changepoint.segment import search
from changepoint.segment_modes import search_modes
from changepoint.series import Floats, Ints


@compiled
def changes(
    values: Floats, limit: float, floor: float, least: int, leeway: float
) -> tuple[Ints, Floats]:
    """The changes of a series of single values, in one go: places and strengths.

    values: (n,), n >= 2. limit: least strength of a change. floor: smallest deviation there can
    be. least: values of a side. leeway: factor of what a value may stick out by.
    """
    y, sums, scale = prepared(values, floor, leeway)
    inner = _inner(sums, least)
    return searched(values, y, sums, (scale, leeway), limit, floor, least, new_memo(), inner)


@compiled
def changes_of_scores(
    scores: Floats, limit: float, floor: float, least: int
) -> tuple[Ints, Floats]:
    """The same for values that are scores: nothing is clipped, and their noise has one mode."""
    n = len(scores)
    sums = np.zeros((2, n + 1))
    set_sums(scores, 0, sums)
    inner = _inner(sums, least)
    return search(
        scores, scores, sums, np.inf, limit, (0.0, floor * floor), least, new_memo(), inner
    )


@compiled
def _inner(sums: Floats, least: int) -> Inner:
    starts, stops = grid(0, sums.shape[1] - 1)
    inner = (starts, stops, np.empty(len(starts), np.int64), np.empty(len(starts)))
    set_splits(sums, least, inner, 0)
    return inner


@compiled
def prepared(values: Floats, floor: float, leeway: float) -> tuple[Floats, Floats, float]:
    """Clipped values (n,), their running sums (2, n + 1), and the robust deviation."""
    n = len(values)
    scale = max(rough_scale(values), floor)
    middles, y = np.empty(n), np.empty(n)
    sums = np.zeros((2, n + 1))
    set_middles(values, 0, middles)
    set_clipped(values, middles, scale * leeway, 0, y)
    set_sums(y, 0, sums)
    return y, sums, scale


@compiled
def searched(
    values: Floats,
    y: Floats,
    sums: Floats,
    scales: tuple[float, float],
    limit: float,
    floor: float,
    least: int,
    memo: Memo,
    inner: Inner,
) -> tuple[Ints, Floats]:
    """The same for what has been prepared.

    y: (n,) clipped values. sums: (2, n + 1), their running sums. scales: robust deviation of the
    values, and leeway. memo, inner: what is known of stretches and inner intervals.
    """
    scale, leeway = scales
    share = clipped_share(values, y, scale * leeway)
    sizes = (share, floor * floor)
    places, strengths = search(values, y, sums, scale, limit, sizes, least, memo, inner)
    edges = np.concatenate((np.zeros(1, np.int64), places, np.array([len(y)])))
    modes = two_modes(y, _with_next(y, sums, edges, least, memo))
    if modes[2] > 0.0:
        return search_modes(y, sums, modes, limit, sizes, least, inner)
    return places, strengths


@compiled
def _with_next(y: Floats, sums: Floats, edges: Ints, least: int, memo: Memo) -> Ints:
    """The edges, and the best split that did not pass: if it is one, noise around it is plainer."""
    best = 0.0
    at = -1
    segment = -1
    for s in range(len(edges) - 1):
        gain, place, _, _, _ = stretch(y, sums, edges[s], edges[s + 1], least, memo)
        if gain > best:
            best, at, segment = gain, place, s
    if at < 0:
        return edges
    return np.concatenate((edges[: segment + 1], np.array([at]), edges[segment + 1 :]))
