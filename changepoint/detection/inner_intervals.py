"""Intervals inside a series, each searched separately in order to find temporary changes."""

from __future__ import annotations

import math

import numpy as np

from changepoint.detection.blocks import BLOCK, best_split
from changepoint.detection.scan import Sums, best_gain
from changepoint.jit import compiled
from changepoint.series import Floats, Ints

SHORTEST = 12
"""Values of the shortest inner interval; the lengths grow by the square root of 2."""

FEWEST_BLOCKS = 4
"""Length of an interval, in blocks, from which a search with block sums is faster than one
without."""

Inner = tuple[Ints, Ints, Ints, Floats]
"""Inner intervals: start, stop and best split of each, and its gain, all (intervals,)."""


@compiled
def grid(n: int) -> tuple[Ints, Ints]:
    """Return the start and stop of each interval inside a series of n values, shortest first.

    Seeded intervals (Kovacs, Li, Buhlmann, Munk, Biometrika 110, 2023): those of each length
    overlap by half, so that each change is in the middle half of one. Their number is linear in n.
    They lie on a fixed grid, to which a longer series only adds at its end.
    """
    # The maximum number: of each length, one for every step.
    room = 0
    length = float(SHORTEST)
    while math.ceil(length) <= n:
        room += n // (math.ceil(length) // 2) + 1
        length *= math.sqrt(2.0)
    starts = np.empty(room, np.int64)
    stops = np.empty(room, np.int64)
    count = 0
    length = float(SHORTEST)
    while math.ceil(length) <= n:
        whole = math.ceil(length)
        step = whole // 2
        i = 0
        while i * step + whole <= n:
            starts[count], stops[count] = i * step, i * step + whole
            count += 1
            i += 1
        length *= math.sqrt(2.0)
    return starts[:count], stops[:count]


@compiled
def grid_by_stop(n: int) -> tuple[Ints, Ints]:
    """Return the intervals inside a series of n values, ordered by where they stop."""
    starts, stops = grid(n)
    # As floats, which other kernels sort too: each type of sort is compiled separately.
    order = np.argsort(stops.astype(np.float64), kind="mergesort")
    return starts[order], stops[order]


@compiled
def set_splits(sums: Sums, blocks: Floats, least: int, inner: Inner, first: int) -> None:
    """Find the best split of each inner interval from number ``first`` on.

    blocks: block sums of the series (blocks.py), with which most values of long intervals are
    skipped.
    """
    starts, stops, places, gains = inner
    for i in range(first, len(starts)):
        if stops[i] - starts[i] < FEWEST_BLOCKS * BLOCK:
            gains[i], places[i] = best_gain(sums[0], starts[i], stops[i], least)
        else:
            gains[i], places[i] = best_split(sums[0], starts[i], stops[i], least, blocks)


@compiled
def inner_of(sums: Sums, blocks: Floats, least: int) -> Inner:
    """Return the inner intervals of a whole series, with the best split of each."""
    starts, stops = grid(len(sums[0]) - 1)
    inner = (starts, stops, np.empty(len(starts), np.int64), np.empty(len(starts)))
    set_splits(sums, blocks, least, inner, 0)
    return inner
