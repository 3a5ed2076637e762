"""What is known of stretches of a series, so that nothing is summed twice.

A search asks for the same stretches again and again, and a series that grows by a value asks for
nearly all of those it asked for the night before. Their answers stay right as long as the clipped
values in them do.
"""

from __future__ import annotations

import numpy as np

from changepoint.blocks import best_split, new_blocks, set_blocks, squares
from changepoint.jit import compiled
from changepoint.scan import HALF_WINDOW, Sums
from changepoint.series import Floats, Ints

Memo = tuple[Ints, Floats, Floats]
"""Keys (slots, 3), start, stop and the length of the series then; answers (slots, 5); the blocks of
the series."""

PROBES = 8
"""Slots that are tried for a stretch; if all hold others, the first of them is overwritten."""

SLOTS = 1024
"""Slots of a memo, a power of two: enough for a few hundred changes."""


@compiled
def new_memo(size: int) -> Memo:
    """A memo with room for the blocks of a series of up to ``size`` values, not yet described."""
    return np.full((SLOTS, 3), -1), np.empty((SLOTS, 5)), new_blocks(size)


@compiled
def memo_of(y: Floats, sums: Sums) -> Memo:
    """The memo of a whole series: (n,) clipped values and their running sums."""
    memo = new_memo(len(y))
    set_blocks(y, sums, 0, memo[2])
    return memo


@compiled
def renew(y: Floats, sums: Sums, first: int, memo: Memo) -> None:
    """Bring the memo of a shorter series up to date: values from number ``first`` on are new."""
    if first == 0:
        memo[0][:] = -1
    set_blocks(y, sums, first, memo[2])


@compiled
def stretch(
    y: Floats, sums: Sums, start: int, stop: int, least: int, memo: Memo
) -> tuple[float, int, float, float, float]:
    """Of [start, stop): gain and place of its best split, and its squares.

    y: (n,) clipped values; sums: their running sums. The squares are the squared error around the
    mean and the sums of squared differences of values one and two apart. An answer of another night
    is right if every value in it had all the neighbours then that it is clipped by.
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
        # An answer that is right no more is a free slot: most of last night's last stretches are.
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
