"""A cache of statistics of parts of a series, so that a search computes each part once.

A search requests the same stretches repeatedly, and a series that grows by a value requests nearly
all stretches of the night before. A cached answer stays valid as long as the clipped values of its
stretch do not change.
"""

from __future__ import annotations

import numpy as np

from changepoint.detection.blocks import best_split, new_blocks, set_blocks, squares
from changepoint.detection.scan import HALF_WINDOW, Sums
from changepoint.jit import compiled
from changepoint.series import Floats, Ints

Memo = tuple[Ints, Floats, Floats]
"""The cache: keys (slots, 3), each the start and the stop of a stretch, and the length of the
series when it was cached; answers (slots, 5); and the blocks of the series."""

PROBES = 8
"""Slots to try for a stretch; if all of them hold other stretches, the first one is overwritten."""

SLOTS = 1024
"""Number of slots of a cache, a power of two: enough for a few hundred changes."""


@compiled
def new_memo(size: int) -> Memo:
    """Create an empty cache with space for a series of up to ``size`` values."""
    return np.full((SLOTS, 3), -1), np.empty((SLOTS, 5)), new_blocks(size)


@compiled
def memo_of(y: Floats, sums: Sums) -> Memo:
    """Create the cache of a whole series from its clipped values and their running sums.

    Clipped values are (n,).
    """
    memo = new_memo(len(y))
    set_blocks(y, sums, 0, memo[2])
    return memo


@compiled
def renew(y: Floats, sums: Sums, first: int, memo: Memo) -> None:
    """Update the cache of a series after it has grown: values from number ``first`` on are new."""
    if first == 0:
        memo[0][:] = -1
    set_blocks(y, sums, first, memo[2])


@compiled
def cached_interval(
    y: Floats, sums: Sums, start: int, stop: int, least: int, memo: Memo
) -> tuple[float, int, float, float, float]:
    """Return the gain and place of the best split of a part of a series, from the cache.

    y: (n,) clipped values; sums: their running sums. The last three numbers are the squared error
    around the mean and the sums of squared differences at lag one and two. An answer from an
    earlier night is valid if every value of the stretch had, at that time, all the neighbours that
    its clipping uses.
    """
    keys, answers, blocks = memo
    n = len(y)
    mask = len(keys) - 1
    home = (start * 1000003 + stop * 7919) & mask
    slot = -1
    for i in range(PROBES):
        j = (home + i) & mask
        right = keys[j, 2] == n or keys[j, 1] <= keys[j, 2] - HALF_WINDOW
        if right and keys[j, 0] == start and keys[j, 1] == stop:
            a = answers[j]
            return a[0], int(a[1]), a[2], a[3], a[4]
        # An invalid answer is a free slot: most of the last stretches of the night before are
        # invalid.
        if slot < 0 and (keys[j, 0] < 0 or not right):
            slot = j
        if keys[j, 0] < 0:
            break
    if slot < 0:
        slot = home
    gain, at = best_split(sums[0], start, stop, least, blocks)
    rest, one, two = squares(y, sums, start, stop, blocks)
    keys[slot, 0], keys[slot, 1], keys[slot, 2] = start, stop, n
    answers[slot, 0], answers[slot, 1] = gain, at
    answers[slot, 2], answers[slot, 3], answers[slot, 4] = rest, one, two
    return gain, at, rest, one, two
