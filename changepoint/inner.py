"""Inner intervals of a series, in which a level that comes and goes stands out."""

from __future__ import annotations

import math

import numpy as np

from changepoint.jit import compiled
from changepoint.scan import Sums, best_gain
from changepoint.series import Floats, Ints

SHORTEST = 12
"""Values of the shortest inner interval; the next lengths are larger by the square root of 2."""

Inner = tuple[Ints, Ints, Ints, Floats]
"""Inner intervals: start, stop and best split of each, and its gain, all (intervals,)."""


@compiled
def grid(n: int) -> tuple[Ints, Ints]:
    """Inner intervals of n values, start and stop of each, in the order of their ends.

    Seeded intervals (Kovacs, Li, Buhlmann, Munk, Biometrika 110, 2023): of every length there
    are enough, overlapping by half, that each change is in the middle half of one. Their number
    is linear in n. They lie on a grid of their own that a longer series only adds to, at its end.
    """
    # As many as there can be: of each length, one for every step.
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
    starts, stops = starts[:count], stops[:count]
    order = np.argsort(stops, kind="mergesort")
    return starts[order], stops[order]


@compiled
def set_splits(sums: Sums, least: int, inner: Inner, first: int) -> None:
    """Find the best splits of the inner intervals from number ``first`` on."""
    starts, stops, places, gains = inner
    for i in range(first, len(starts)):
        gains[i], places[i] = best_gain(sums[0], starts[i], stops[i], least)
