"""The default detection method for a series that grows: only new values cost time.

Clipping a value depends on its neighbours and on the scale of the noise. That scale is rounded to a
grid: on most nights it is unchanged, and so are all clipped values but the last. The same holds for
their sums, the best splits of the inner intervals, and cached stretches that do not reach the end.
The same compiled search as for a whole series then runs, so the result is identical to the last
bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from changepoint.detection import calibration
from changepoint.detection.default import UNKNOWN, floor_of, outcome, searched
from changepoint.detection.inner_intervals import Inner, grid_by_stop, set_splits
from changepoint.detection.interval_cache import Memo, new_memo, renew
from changepoint.detection.method import MethodResult
from changepoint.detection.scan import (
    HALF_WINDOW,
    LEAST,
    Sums,
    clipped_counts,
    scale_of_gaps,
    set_clipped,
    set_sums,
    share_of,
)
from changepoint.jit import compiled
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
"""With at least this many new values, the whole series is searched again: simpler, and faster for
more values still."""


_Known = tuple[float, int, int, int]
"""The state between two searches: the clipping scale; how many values equal the previous one; and,
of the values whose clipping is final, how many were clipped and how many of them are far
outliers."""


class _Room(NamedTuple):
    """The stored state of a growing series: arrays with space for later values.

    values: scaled. gaps, ordered: absolute differences of neighbours, in series order and sorted.
    y: clipped values. sums: running sums of y. inner: all inner intervals that fit in the space.
    memo: cached stretches.
    """

    values: Floats
    gaps: Floats
    ordered: Floats
    y: Floats
    sums: Sums
    inner: Inner
    memo: Memo


class Resumed:
    """The continued search of one series that has a single value at each position.

    alarms_per_1000: as in ``detect``, less the part for changes of spread.
    """

    def __init__(self, alarms_per_1000: float) -> None:
        self._alarms = alarms_per_1000
        self._room = _new_room(0)
        self._origin = self._reach = self._magnitude = 0.0
        self._exponent: int | None = None
        self._restart()

    def _restart(self) -> None:
        """Forget all values of the series, so that the next search begins from nothing."""
        self._count = 0
        self._known: _Known = (-1.0, 0, 0, 0)

    def found(self, measured: Floats) -> tuple[Ints, Floats]:
        """Return the places and strengths of the changes of level found so far.

        measured: (n,) values without gaps, which begin with those of the last call.
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

    def outcome(self, measured: Floats) -> MethodResult:
        """Return the same result as ``default.find`` for all values so far."""
        limit = calibration.limit(len(measured), self._alarms)
        places, strengths = self.found(measured)
        return outcome(len(measured), limit, zip(places.tolist(), strengths.tolist(), strict=True))

    def _take(self, measured: Floats) -> None:
        """Add the new values to the stored series, scaled; rescale all if the scale changed."""
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
    """Search a series whose first ``former`` values were searched before in the same unit.

    least: minimum values of a side; it is an argument because, as a constant, it would have every
    kernel compiled again. Returns places, strengths, and the state for the next call.
    """
    former_scale, equal, moved, far = known
    values, y = room.values[:n], room.y[:n]
    gaps, ordered = room.gaps[: n - 1], room.ordered[: n - 1]
    sums = (room.sums[0][: n + 1], room.sums[1][: n + 1])
    equal += _set_gaps(values, former, gaps, ordered)
    floor = floor_of(values, equal)
    scale = max(scale_of_gaps(_middle(ordered), gaps), floor)

    # The clipping median of a value near the previous end may have changed.
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
    noise = (scale, share)
    at, strengths = searched(values, y, sums, noise, UNKNOWN, limit, floor, least, room.memo, inner)
    return at, strengths, (scale, equal, moved, far)


@compiled
def _set_gaps(values: Floats, former: int, gaps: Floats, ordered: Floats) -> int:
    """Add the differences between new neighbours; return how many of them are zero."""
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
    """Return the median of values that are already in ascending order."""
    half = len(ordered) // 2
    if len(ordered) % 2:
        return float(ordered[half])
    return float(ordered[half - 1] + ordered[half]) / 2.0
