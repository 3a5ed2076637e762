"""The compiled search of the method "robust": where a series of single values changes."""

from __future__ import annotations

import math

import numpy as np

from changepoint.jit import compiled
from changepoint.scan import (
    CLIP,
    FAR_OUT,
    FAR_WEIGHT,
    HALF_WINDOW,
    MAX_PHI,
    PHI_MARGIN,
    PHI_SHORT,
    RAMP_MARGIN,
    SMALL_SIDE,
    SPARE_SHARE,
    SPARE_SLOPE,
    best_gain,
    clipped,
    evidence,
    line_gain,
    mean_factor,
    rough_scale,
    spare_gain,
)
from changepoint.series import Floats, Ints

BUMP = 2.0
"""How many times the evidence a split of an inner interval needs: a level that comes and goes is
two changes, and there are many more places for it."""

LARGEST_EXPONENT = 700.0
"""exp() of more overflows a double."""

TIE = 1.0 - 1e-9
"""Keeps a gain that rounding put just below what it has to be: it is judged exactly afterwards."""

BUMP_MARGIN = 14.0
"""And at least this much more than any other, which matters where the budget is generous."""

SHORTEST = 12
"""Values of the shortest inner interval; the next lengths are larger by the square root of 2."""


@compiled
def intervals(total: Floats, least: int) -> tuple[Ints, Ints, Ints, Floats]:
    """Inner intervals that overlap by half, with the best split of each: start, stop, at, gain.

    Seeded intervals (Kovacs, Li, Buhlmann, Munk, Biometrika 110, 2023): of every length there
    are enough that each change is in the middle half of one. Their number is linear in n.
    """
    n = len(total) - 1
    count = 0
    length = float(SHORTEST)
    while length < n:
        count += int((n - length) / (length / 2.0)) + 2
        length *= math.sqrt(2.0)
    starts = np.empty(count, np.int64)
    stops = np.empty(count, np.int64)
    places = np.empty(count, np.int64)
    gains = np.empty(count)
    size = 0
    length = float(SHORTEST)
    while length < n:
        steps = math.ceil((n - length) / (length / 2.0))
        for i in range(steps + 1):
            start = int(i * (n - length) / max(steps, 1))
            stop = min(math.ceil(start + length), n)
            gain, at = best_gain(total, start, stop, least)
            starts[size], stops[size], places[size], gains[size] = start, stop, at, gain
            size += 1
        length *= math.sqrt(2.0)
    return starts[:size], stops[:size], places[:size], gains[:size]


@compiled
def strength(
    values: Floats,
    sums: Floats,
    place: tuple[int, int, int],
    noise: tuple[float, float, float, float],
) -> float:
    """The evidence for a split after every guard, as a squared normal deviation.

    sums: (2, n + 1), running sums of the values and of value times index. place: start, split
    and stop. noise: squared error left, its degrees, autocorrelation, share of clipped values.
    """
    start, tau, stop = place
    rest, degrees, phi, share = noise
    k = float(tau - start)
    m = float(stop - tau)
    left = (sums[0, tau] - sums[0, start]) / k
    right = (sums[0, stop] - sums[0, tau]) / m
    gain = (left - right) ** 2 * k * m / (k + m)
    factor = (mean_factor(phi, k) / k + mean_factor(phi, m) / m) / (1.0 / k + 1.0 / m)
    found = evidence(gain, rest, degrees, factor)
    line = line_gain(sums[0], sums[1], start, stop)
    if line >= gain or evidence(gain - line, rest, degrees, factor) < RAMP_MARGIN:
        return 0.0
    if min(k, m) < SMALL_SIDE:
        spare = spare_gain(values, sums[0], start, tau, stop)
        needed = min(SPARE_SHARE + SPARE_SLOPE * share, 1.0)
        found = min(found, evidence(spare, rest, degrees, factor) / needed)
    return found


@compiled
def _across(values: Floats, tau: int) -> tuple[float, float]:
    """Squared differences at lag 1 and 2 that reach across tau."""
    n = len(values)
    one = (values[tau] - values[tau - 1]) ** 2
    two = 0.0
    for i in range(tau - 2, tau):
        if i >= 0 and i + 2 < n:
            two += (values[i + 2] - values[i]) ** 2
    return one, two


@compiled
def _phi(one: float, two: float, n: int, changes: int) -> float:
    """Autocorrelation that counts, from the sums of squared differences at lag 1 and 2.

    For an autoregression of order one the mean squares are as 1 to 1 + phi, whatever the level.
    """
    ones = n - 1 - changes
    twos = n - 2 - 2 * changes
    if one <= 0.0 or ones <= 0 or twos <= 0:
        return 0.0
    phi = (two / twos) / (one / ones) - 1.0
    return min(max(phi - (PHI_MARGIN / math.sqrt(n) - PHI_SHORT / n), 0.0), MAX_PHI)


@compiled
def prepared(
    values: Floats, floor: float, leeway: float
) -> tuple[Floats, Floats, float, float, float, float]:
    """Clipped and centred values (n,), their running sums (2, n + 1), and four numbers.

    Those are the squared error, the sums of squared differences at lag 1 and 2, and the share of
    values that were clipped, those moved all the way counted as ``FAR_WEIGHT``.
    """
    n = len(values)
    scale = max(rough_scale(values), floor) * leeway
    y = clipped(values, scale)
    share = 0.0
    for i in range(n):
        moved = abs(y[i] - values[i])
        if moved > 0.0:
            share += FAR_WEIGHT if moved > FAR_OUT * scale else 1.0
    share /= n
    y = y - np.mean(y)
    sums = np.zeros((2, n + 1))
    rest = 0.0
    one = 0.0
    two = 0.0
    for i in range(n):
        sums[0, i + 1] = sums[0, i] + y[i]
        sums[1, i + 1] = sums[1, i] + i * y[i]
        rest += y[i] * y[i]
        if i >= 1:
            one += (y[i] - y[i - 1]) ** 2
        if i >= 2:
            two += (y[i] - y[i - 2]) ** 2
    return y, sums, rest, one, two, share


@compiled
def first_split(values: Floats, floor: float, least: int, leeway: float) -> tuple[float, int]:
    """Strength and place of the best split of a whole series: what ``search`` starts with.

    An unchanged series raises an alarm if this strength reaches the limit: the calibration
    simulates it.
    """
    n = len(values)
    y, sums, rest, one, two, share = prepared(values, floor, leeway)
    gain, at = best_gain(sums[0], 0, n, least)
    if gain <= 0.0:
        return 0.0, -1
    d1, d2 = _across(y, at)
    degrees = float(n - 2)
    left_over = max(rest - gain, degrees * floor * floor)
    noise = (left_over, degrees, _phi(one - d1, two - d2, n, 1), share)
    return strength(y, sums, (0, at, n), noise), at


@compiled
def _best_segment(
    y: Floats,
    sums: Floats,
    edges: Ints,
    splits: tuple[Floats, Ints],
    sizes: tuple[float, float, float, float, float],
    limit: float,
) -> tuple[int, int]:
    """The segment whose best split passes, largest gain first, and the split; (-1, -1) if none.

    edges: (segments + 1,). splits: gain and place of the best split of each segment. sizes: squared
    error, sums of squared differences at lag 1 and 2, share of clipped values,
    smallest variance there can be.
    """
    gains, places = splits
    rest, one, two, share, smallest = sizes
    n = len(y)
    changes = len(edges) - 1
    degrees = float(n - changes - 1)
    for s in np.argsort(-gains):
        left_over = max(rest - gains[s], degrees * smallest)
        if gains[s] <= 0.0 or evidence(gains[s], left_over, degrees, 1.0) < limit:
            break
        d1, d2 = _across(y, places[s])
        noise = (left_over, degrees, _phi(one - d1, two - d2, n, changes), share)
        if strength(y, sums, (edges[s], places[s], edges[s + 1]), noise) >= limit:
            return s, places[s]
    return -1, -1


@compiled
def _best_inner(
    y: Floats,
    sums: Floats,
    edges: Ints,
    inner: tuple[Ints, Ints, Ints, Floats],
    sizes: tuple[float, float, float, float, float],
    limit: float,
) -> tuple[int, int]:
    """The same for the inner intervals that lie in one segment; returns that segment."""
    starts, stops, places, gains = inner
    rest, one, two, share, smallest = sizes
    n = len(y)
    changes = len(edges) - 1
    degrees = float(n - changes - 1)
    if degrees < 1.0:
        return -1, -1
    # The gain that would just do, were there no correction: few intervals have it.
    odds = math.expm1(min(limit / (degrees - 0.5), LARGEST_EXPONENT))
    enough = np.flatnonzero(gains * (1.0 + odds) >= odds * rest * TIE)
    for i in enough[np.argsort(-gains[enough])]:
        s = np.searchsorted(edges, starts[i], side="right") - 1
        if gains[i] <= 0.0 or edges[s + 1] < stops[i]:
            continue
        left_over = max(rest - gains[i], degrees * smallest)
        d1, d2 = _across(y, places[i])
        noise = (left_over, degrees, _phi(one - d1, two - d2, n, changes), share)
        if strength(y, sums, (starts[i], places[i], stops[i]), noise) >= limit:
            return s, places[i]
    return -1, -1


@compiled
def _squares(y: Floats, sums: Floats, edges: Ints) -> tuple[float, float, float]:
    """Squared error around the levels of segments, and squared differences inside them."""
    rest = 0.0
    one = 0.0
    two = 0.0
    for s in range(len(edges) - 1):
        mean = (sums[0, edges[s + 1]] - sums[0, edges[s]]) / (edges[s + 1] - edges[s])
        for i in range(edges[s], edges[s + 1]):
            rest += (y[i] - mean) ** 2
            if i >= edges[s] + 1:
                one += (y[i] - y[i - 1]) ** 2
            if i >= edges[s] + 2:
                two += (y[i] - y[i - 2]) ** 2
    return rest, one, two


@compiled
def _greedy(
    y: Floats,
    sums: Floats,
    sizes: tuple[float, float, float, float, float],
    limit: float,
    least: int,
) -> Ints:
    """Edges (segments + 1,) of a binary segmentation, the strongest split first."""
    rest, one, two, share, smallest = sizes
    n = len(y)
    edges = np.array([0, n])
    gain, at = best_gain(sums[0], 0, n, least)
    gains = np.array([gain])
    places = np.array([at])
    none = np.empty(0, np.int64)
    inner = (none, none, none, np.empty(0))
    needed = max(BUMP * limit, limit + BUMP_MARGIN)
    seeded = False
    while True:
        now = (rest, one, two, share, smallest)
        s, at = _best_segment(y, sums, edges, (gains, places), now, limit)
        if s < 0 and not seeded:
            inner = intervals(sums[0], least)
            seeded = True
        if s < 0:
            s, at = _best_inner(y, sums, edges, inner, now, needed)
        if s < 0:
            return edges
        k = float(at - edges[s])
        m = float(edges[s + 1] - at)
        left = (sums[0, at] - sums[0, edges[s]]) / k
        right = (sums[0, edges[s + 1]] - sums[0, at]) / m
        rest = max(rest - (left - right) ** 2 * k * m / (k + m), 0.0)
        d1, d2 = _across(y, at)
        one = max(one - d1, 0.0)
        two = max(two - d2, 0.0)
        edges = np.concatenate((edges[: s + 1], np.array([at]), edges[s + 1 :]))
        gains = np.concatenate((gains[: s + 1], gains[s:]))
        places = np.concatenate((places[: s + 1], places[s:]))
        for i in range(s, s + 2):
            gains[i], places[i] = best_gain(sums[0], edges[i], edges[i + 1], least)


@compiled
def _relocated(values: Floats, edges: Ints, reach: float, least: int) -> Ints:
    """``edges`` next to short segments, moved to where the values as measured put them.

    In the neighbourhood of the end the median still is the old level, and the first values after a
    large step were clipped to it. Now that the levels are known, a value is clipped to within
    ``reach`` of the two it can belong to.
    """
    moved = edges.copy()
    for i in range(1, len(edges) - 1):
        start, at, stop = moved[i - 1], edges[i], edges[i + 1]
        if min(at - start, stop - at) > HALF_WINDOW:
            continue
        left = np.median(values[start:at])
        right = np.median(values[at:stop])
        total = np.zeros(stop - start + 1)
        for j in range(start, stop):
            inside = min(max(values[j], min(left, right) - reach), max(left, right) + reach)
            total[j - start + 1] = total[j - start] + inside - left
        best = best_gain(total, 0, stop - start, least)[1]
        if best > 0:
            moved[i] = start + best
    return moved


@compiled
def search(
    values: Floats, limit: float, floor: float, least: int, leeway: float
) -> tuple[Ints, Floats]:
    """The changes of a series of single values: places and strengths.

    values: (n,), n >= 2. limit: least strength of a change. floor: smallest deviation there can
    be. least: values of a side. leeway: factor of what a value may stick out by. Greedy from the
    strongest split, as a binary segmentation, then every change is moved to its best place between
    its neighbours and has to pass there once more, the weakest leaving first.
    """
    n = len(values)
    y, sums, rest, one, two, share = prepared(values, floor, leeway)
    smallest = floor * floor
    edges = _greedy(y, sums, (rest, one, two, share, smallest), limit, least)
    while True:
        changes = len(edges) - 2
        for i in range(1, changes + 1):
            edges[i] = best_gain(sums[0], edges[i - 1], edges[i + 1], least)[1]
        rest, one, two = _squares(y, sums, edges)
        degrees = max(float(n - changes - 1), 1.0)
        noise = (max(rest, degrees * smallest), degrees, _phi(one, two, n, changes), share)
        strengths = np.empty(changes)
        for i in range(changes):
            strengths[i] = strength(y, sums, (edges[i], edges[i + 1], edges[i + 2]), noise)
        if changes == 0 or np.min(strengths) >= limit:
            reach = CLIP * max(rough_scale(values), floor)
            return _relocated(values, edges, reach, least)[1 : changes + 1].copy(), strengths
        weakest = np.argmin(strengths) + 1
        edges = np.concatenate((edges[:weakest], edges[weakest + 1 :]))
