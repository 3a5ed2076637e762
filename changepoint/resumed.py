"""The default method's search of a series that grows, at the cost of what is new.

Clipping a value takes its neighbours and the scale of the noise, and that scale is on a grid: on
most nights it stays, and all but the last clipped values with it. So do their sums, the best splits
of the inner intervals, and what is known of stretches that do not reach the end. What is found goes
through the same compiled search as a whole series, so that it is the same to the last bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from changepoint import calibration
from changepoint.default import outcome
from changepoint.growing import floor_of, searched
from changepoint.inner import Inner, grid_by_stop, set_splits
from changepoint.jit import compiled
from changepoint.memo import Memo, new_memo, renew
from changepoint.method import Outcome
from changepoint.scan import (
    HALF_WINDOW,
    LEAST,
    Sums,
    clipped_counts,
    scale_of_gaps,
    set_clipped,
    set_sums,
    share_of,
)
from changepoint.series import (
    ANCHORS,
    RESOLUTION,
    Floats,
    Ints,
    exponent_of,
    origin_of,
    scaled_values,
)

BLOCK = 64
"""New values at once from which on all is made anew: it is simpler and soon faster."""


_Known = tuple[float, int, int, int]
"""The scale values were clipped by; how many are equal to the one before; and of those that stay as
they were clipped, how many were clipped and how many of them all the way."""


class _Room(NamedTuple):
    """What is known of a series of n values, with room for more: arrays of ``size`` or more.

    values: scaled. gaps, ordered: absolute differences of neighbours, as they come and by size.
    y: clipped values. sums: running sums of y. inner: all inner intervals that fit in the room.
    memo: what is known of stretches.
    """

    values: Floats
    gaps: Floats
    ordered: Floats
    y: Floats
    sums: Sums
    inner: Inner
    memo: Memo


class Resumed:
    """The search of one series of single values, each being a position of its own.

    alarms_per_1000: as in ``detect``, less what changes of spread may spend.
    """

    def __init__(self, alarms_per_1000: float) -> None:
        self._alarms = alarms_per_1000
        self._room = _new_room(0)
        self._origin = self._reach = self._magnitude = 0.0
        self._exponent: int | None = None
        self._restart()

    def _restart(self) -> None:
        """Forget all values."""
        self._count = 0
        self._known: _Known = (-1.0, 0, 0, 0)

    def found(self, measured: Floats) -> tuple[Ints, Floats]:
        """Places and strengths of the changes of level.

        measured: (n,) values without gaps, of which those of the last call are the beginning.
        """
        n = len(measured)
        if n < 2 * LEAST:
            return np.empty(0, np.int64), np.empty(0)
        self._take(measured)
        limit = calibration.limit(n, self._alarms)
        places, strengths, self._known = _resume(
            self._room, n, self._count, self._known, limit, LEAST
        )
        self._count = n
        return places, strengths

    def outcome(self, measured: Floats) -> Outcome:
        """The same as what ``default.find`` says."""
        limit = calibration.limit(len(measured), self._alarms)
        places, strengths = self.found(measured)
        return outcome(len(measured), limit, zip(places.tolist(), strengths.tolist(), strict=True))

    def _take(self, measured: Floats) -> None:
        """Scale the new values into the room, or all of them if their scale is another."""
        n = len(measured)
        if len(self._room.values) >= n and self._count >= ANCHORS and n - self._count < BLOCK:
            new = measured[self._count :].tolist()
            for value in new:
                self._reach = max(self._reach, abs(value - self._origin))
                self._magnitude = max(self._magnitude, abs(value))
            exponent = exponent_of(self._reach, self._magnitude)
            if exponent is not None and exponent == self._exponent:
                for i, value in enumerate(new, self._count):
                    self._room.values[i] = math.ldexp(value - self._origin, -exponent)
                return
        if len(self._room.values) < n:
            self._room = _new_room(2 * n)
        self._restart()
        self._origin = origin_of(measured)
        self._reach = float(np.max(np.abs(measured - self._origin)))
        self._magnitude = float(np.max(np.abs(measured)))
        self._exponent = exponent_of(self._reach, self._magnitude)
        self._room.values[:n] = scaled_values(measured, self._origin, self._exponent)


def _new_room(size: int) -> _Room:
    starts, stops = grid_by_stop(size)
    return _Room(
        values=np.empty(size),
        gaps=np.empty(size),
        ordered=np.empty(size),
        y=np.empty(size),
        sums=(np.zeros(size + 1), np.zeros(size + 1)),
        inner=(starts, stops, np.empty(len(starts), np.int64), np.empty(len(starts))),
        memo=new_memo(size),
    )


@compiled
def _resume(
    room: _Room, n: int, former: int, known: _Known, limit: float, least: int
) -> tuple[Ints, Floats, _Known]:
    """Search n values, of which the first ``former`` have been searched with the same unit.

    least: values of a side; a constant here would have every kernel below compiled for it again.
    Returns places, strengths, and what is known for the next time.
    """
    former_scale, equal, moved, far = known
    values, y = room.values[:n], room.y[:n]
    gaps, ordered = room.gaps[: n - 1], room.ordered[: n - 1]
    sums = (room.sums[0][: n + 1], room.sums[1][: n + 1])
    equal += _set_gaps(values, former, gaps, ordered)
    floor = floor_of(values, equal)
    scale = max(scale_of_gaps(_middle(ordered), gaps), floor)

    # A value that lacked neighbours at the end may be clipped by another median now.
    final = max(former - HALF_WINDOW, 0)
    if scale != former_scale:
        final = moved = far = 0
    set_clipped(values, scale, final, y)
    set_sums(y, final, sums)
    renew(y, sums, final, room.memo)

    last = max(n - HALF_WINDOW, 0)
    new = clipped_counts(values[final:last], y[final:last], scale)
    moved, far = moved + new[0], far + new[1]
    end = clipped_counts(values[last:], y[last:], scale)
    share = share_of(moved + end[0], far + end[1], n)

    starts, stops, places, gains = room.inner
    count = np.searchsorted(stops, n, side="right")
    inner = (starts[:count], stops[:count], places[:count], gains[:count])
    set_splits(
        sums, room.memo[2], least, inner, int(np.searchsorted(inner[1], final, side="right"))
    )
    at, strengths = searched(values, y, sums, (scale, share), limit, floor, least, room.memo, inner)
    return at, strengths, (scale, equal, moved, far)


@compiled
def _set_gaps(values: Floats, former: int, gaps: Floats, ordered: Floats) -> int:
    """Add the differences of neighbours since ``former``; how many of those are equal."""
    equal = 0
    first = max(former - 1, 0)
    for i in range(first, len(gaps)):
        gaps[i] = abs(values[i + 1] - values[i])
        equal += gaps[i] <= RESOLUTION
    if first == 0:
        sorted_gaps = np.sort(gaps)
        for i in range(len(gaps)):
            ordered[i] = sorted_gaps[i]
        return equal
    for i in range(first, len(gaps)):
        at = np.searchsorted(ordered[:i], gaps[i])
        for j in range(i, at, -1):
            ordered[j] = ordered[j - 1]
        ordered[at] = gaps[i]
    return equal


@compiled
def _middle(ordered: Floats) -> float:
    """The median of ordered values, as ``np.median`` has it."""
    half = len(ordered) // 2
    if len(ordered) % 2:
        return float(ordered[half])
    return float(ordered[half - 1] + ordered[half]) / 2.0
