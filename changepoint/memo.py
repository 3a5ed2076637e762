"""What is known of stretches of a series, so that nothing is summed twice.

A search asks for the same stretches again and again, and a series that grows by a value asks for
nearly all of those it asked for the night before. Their answers stay right as long as the clipped
values in them do.
"""

from __future__ import annotations

import numpy as np

from changepoint.jit import compiled
from changepoint.scan import HALF_WINDOW, best_gain
from changepoint.series import Floats, Ints

Memo = tuple[Ints, Floats]
"""Keys (slots, 3), start, stop and the length of the series then; answers (slots, 5)."""

PROBES = 8
"""Slots that are tried for a stretch; if all hold others, the first of them is overwritten."""

SLOTS = 1024
"""Slots of a memo, a power of two: enough for a few hundred changes."""


@compiled
def new_memo() -> Memo:
    """An empty memo."""
    return np.full((SLOTS, 3), -1), np.empty((SLOTS, 5))


@compiled
def stretch(
    y: Floats, sums: Floats, start: int, stop: int, least: int, memo: Memo
) -> tuple[float, int, float, float, float]:
    """Of [start, stop): gain and place of its best split, and its squares.

    y: (n,) clipped values; sums: their running sums. The squares are the squared error around the
    mean and the sums of squared differences of values one and two apart.
    """
    keys, answers = memo
    n = len(y)
    mask = len(keys) - 1
    home = (start * 1000003 + stop * 7919) & mask
    slot = home
    for i in range(PROBES):
        j = (home + i) & mask
        if keys[j, 0] == start and keys[j, 1] == stop:
            slot = j
            if keys[j, 2] == n or stop <= keys[j, 2] - HALF_WINDOW:
                a = answers[j]
                return a[0], int(a[1]), a[2], a[3], a[4]
            break
        if keys[j, 0] < 0:
            slot = j
            break
    gain, at = best_gain(sums[0], start, stop, least)
    mean = (sums[0, stop] - sums[0, start]) / (stop - start)
    rest = 0.0
    one = 0.0
    two = 0.0
    for i in range(start, stop):
        rest += (y[i] - mean) ** 2
    for i in range(start + 1, stop):
        one += (y[i] - y[i - 1]) ** 2
    for i in range(start + 2, stop):
        two += (y[i] - y[i - 2]) ** 2
    keys[slot, 0], keys[slot, 1], keys[slot, 2] = start, stop, n
    answers[slot, 0], answers[slot, 1] = gain, at
    answers[slot, 2], answers[slot, 3], answers[slot, 4] = rest, one, two
    return gain, at, rest, one, two
