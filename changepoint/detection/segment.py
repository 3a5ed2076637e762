"""The compiled search of the default method, for series with one value at each position."""

from __future__ import annotations

import math

import numpy as np

from changepoint.detection.inner_intervals import Inner
from changepoint.detection.interval_cache import Memo, cached_interval
from changepoint.detection.scan import (
    CLIP,
    HALF_WINDOW,
    MAX_PHI,
    PHI_LONG,
    PHI_MARGIN,
    PHI_NEAR,
    PHI_SHORT,
    RAMP_MARGIN,
    SMALL_SIDE,
    SPARE_SHARE,
    SPARE_SLOPE,
    Sizes,
    Sums,
    best_gain,
    evidence,
    heaviness,
    line_gain,
    moderated,
    spare_gain,
    split_factor,
)
from changepoint.jit import compiled
from changepoint.series import LARGEST_EXPONENT, TIE, Floats, Ints

BUMP = 2.0
"""Factor of the evidence required of a split of an inner interval: a temporary level has two
changes, and many more possible places."""

SMALLEST_GAIN = 1e-300
"""Gain below which a split counts as explaining nothing."""

LOCAL = 20.0
"""Degrees of freedom from which the noise around a change is estimated from its neighbouring
segments alone. With fewer, all segments are used."""

BUMP_MARGIN = 14.0
"""Minimum difference between the limit of splits of inner intervals and that of other splits. It
matters for a generous budget."""


@compiled
def _is_ramp(
    gain: float, line: float, noise: tuple[float, float], factor: float, sizes: Sizes
) -> bool:
    """Whether a straight line explains the values about as well as a split does.

    gain, line: squared error that the split and the line explain. noise: remaining squared error
    and its degrees of freedom. A ladder has no such guard, so beyond the length of a ladder the
    guard gains weight gradually (``trust``).
    """
    beyond = gain - sizes.trust * line
    rest, degrees = noise
    if beyond <= 0.0:
        return True
    return evidence(beyond, rest, degrees, factor) < sizes.trust * RAMP_MARGIN


@compiled
def strength(
    values: Floats,
    sums: Sums,
    place: tuple[int, int, int],
    noise: tuple[float, float],
    sizes: Sizes,
) -> float:
    """Return the evidence for a split, as a squared normal deviation, after every guard.

    sums: running sums of the values. place: start, split and stop. noise: remaining squared error
    and its degrees of freedom.
    """
    start, tau, stop = place
    rest, degrees = noise
    k = float(tau - start)
    m = float(stop - tau)
    left = (sums[0][tau] - sums[0][start]) / k
    right = (sums[0][stop] - sums[0][tau]) / m
    gain = (left - right) ** 2 * k * m / (k + m)
    factor = split_factor(sizes.phi, sizes.near, k, m)
    found = evidence(gain, rest, degrees, factor)
    line = line_gain(sums[0], sums[1], start, stop)
    if _is_ramp(gain, line, (rest, degrees), factor, sizes):
        return 0.0
    if min(k, m) < SMALL_SIDE:
        spare = spare_gain(values, sums[0], start, tau, stop)
        needed = min(SPARE_SHARE + SPARE_SLOPE * sizes.share, 1.0)
        found = min(found, evidence(spare, rest, degrees, factor) / needed)
        if sizes.tail > 0.0:
            found /= 1.0 + sizes.tail * heaviness(values, sums[0], place)
    return found


@compiled
def counted_phi(one: float, two: float, n: int, changes: int) -> float:
    """Return the autocorrelation of a series if it is significant, otherwise 0.

    one, two: sums of squared differences at lag one and two. In an autoregression of order one with
    the coefficient phi, the mean square at lag two is 1 + phi times that at lag one, whatever the
    level.
    """
    ones = n - 1 - changes
    twos = n - 2 - 2 * changes
    if one <= 0.0 or ones <= 0 or twos <= 0:
        return 0.0
    phi = (two / twos) / (one / ones) - 1.0
    margin = PHI_LONG + PHI_MARGIN / math.sqrt(n) - PHI_SHORT / n
    return min(max(phi - margin, 0.0), MAX_PHI)


@compiled
def local_noise(parts: Floats, edges: Ints, first: int, stop: int) -> tuple[float, float]:
    """Return the squared error and degrees of freedom of some neighbouring segments.

    parts: (segments, 5). If the segments from ``first`` to ``stop`` have too few values, all
    segments are used.
    """
    degrees = float(edges[stop] - edges[first] - (stop - first))
    if degrees >= LOCAL:
        return np.sum(parts[first:stop, 2]), degrees
    return np.sum(parts[:, 2]), float(edges[-1] - len(parts))


@compiled
def _best_segment(
    y: Floats, sums: Sums, edges: Ints, parts: Floats, sizes: Sizes, limit: float
) -> tuple[int, int]:
    """Return the segment whose best split is significant and explains most; -1 if none is.

    edges: (segments + 1,). parts: (segments, 5), results of ``cached_interval`` for each.
    """
    order = np.empty(0, np.int64)
    for rank in range(len(parts)):
        if rank == 0:
            s = int(np.argmax(parts[:, 0]))
        else:
            # Nearly always the first one passes or none does, so they are sorted only now.
            if rank == 1:
                order = np.argsort(-parts[:, 0], kind="mergesort")
            s = int(order[rank])
        gain, at = parts[s, 0], int(parts[s, 1])
        if gain <= 0.0:
            break
        around, free = local_noise(parts, edges, s, s + 1)
        rest, degrees = moderated(around - gain, free - 1.0, sizes)
        if evidence(gain, rest, degrees, 1.0) < limit:
            continue
        if strength(y, sums, (edges[s], at, edges[s + 1]), (rest, degrees), sizes) >= limit:
            return s, at
    return -1, -1


@compiled
def inner_limit(limit: float) -> float:
    """Return the strength required of a split of an interval inside a series."""
    return max(BUMP * limit, limit + BUMP_MARGIN)


@compiled
def best_inner(
    y: Floats,
    sums: Sums,
    edges: Ints,
    parts: Floats,
    inner: Inner,
    sizes: Sizes,
    limit: float,
) -> tuple[int, int]:
    """Return the best significant split of an inner interval, and the segment it lies in."""
    starts, stops, places, gains = inner
    n = len(y)
    if n - len(edges) < 1:
        return -1, -1
    # The minimum gain in each segment without corrections: few intervals reach it.
    needed = np.empty(len(parts))
    for s in range(len(parts)):
        around, free = local_noise(parts, edges, s, s + 1)
        weight = max(sizes.sure, sizes.doubted)
        odds = math.expm1(min(limit / max(free + weight - 1.5, 0.5), LARGEST_EXPONENT))
        needed[s] = max(odds * around * TIE / (1.0 + odds), SMALLEST_GAIN)
    smallest_needed = np.min(needed)
    inside = np.empty(len(gains), np.int64)
    order = np.empty(len(gains))
    count = 0
    for i in range(len(gains)):
        if gains[i] >= smallest_needed:
            s = np.searchsorted(edges, starts[i], side="right") - 1
            if stops[i] <= edges[s + 1] and gains[i] >= needed[s]:
                inside[count] = i
                order[count] = float(stops[i]) * (n + 1) + starts[i]
                count += 1
    # Of equal gains the one that ends first, independent of the intervals' order.
    inside = inside[:count]
    inside = inside[np.argsort(order[:count], kind="mergesort")]
    for i in inside[np.argsort(-gains[inside], kind="mergesort")]:
        s = int(np.searchsorted(edges, starts[i], side="right")) - 1
        around, free = local_noise(parts, edges, s, s + 1)
        rest, degrees = moderated(around - gains[i], free - 1.0, sizes)
        place = (starts[i], places[i], stops[i])
        if strength(y, sums, place, (rest, degrees), sizes) >= limit:
            return s, places[i]
    return -1, -1


@compiled
def parts_of(y: Floats, sums: Sums, edges: Ints, least: int, memo: Memo) -> Floats:
    """Return the cached statistics of each segment of a series.

    Returns (segments, 5).
    """
    parts = np.empty((len(edges) - 1, 5))
    _set_parts(y, sums, edges, least, memo, parts)
    return parts


@compiled
def _set_parts(y: Floats, sums: Sums, edges: Ints, least: int, memo: Memo, parts: Floats) -> None:
    """Write the cached statistics of each segment between ``edges`` to an array."""
    for s in range(len(edges) - 1):
        gain, at, rest, one, two = cached_interval(y, sums, edges[s], edges[s + 1], least, memo)
        parts[s, 0], parts[s, 1] = gain, at
        parts[s, 2], parts[s, 3], parts[s, 4] = rest, one, two


@compiled
def _greedy(
    y: Floats,
    sums: Sums,
    sizes: Sizes,
    limit: float,
    least: int,
    memo: Memo,
    inner: Inner,
    begun: Ints,
) -> Ints:
    """Add splits to those in ``begun``, the strongest first, as long as one is significant.

    Returns the edges of the segments, (segments + 1,).
    """
    # One array for all possible edges: allocating one per split costs more than the splits.
    most = len(y) // least + len(begun)
    edges, parts = np.empty(most + 1, np.int64), np.empty((most, 5))
    segments = len(begun) - 1
    edges[: segments + 1] = begun
    _set_parts(y, sums, begun, least, memo, parts)
    needed = inner_limit(limit)
    while True:
        mine, known = edges[: segments + 1], parts[:segments]
        s, at = _best_segment(y, sums, mine, known, sizes, limit)
        if s < 0:
            s, at = best_inner(y, sums, mine, known, inner, sizes, needed)
        if s < 0:
            return mine.copy()
        for i in range(segments, s, -1):
            edges[i + 1] = edges[i]
            for j in range(parts.shape[1]):
                parts[i, j] = parts[i - 1, j]
        edges[s + 1] = at
        segments += 1
        _set_parts(y, sums, edges[s : s + 3], least, memo, parts[s:])


@compiled
def _relocated(values: Floats, edges: Ints, reach: float, least: int) -> Ints:
    """Move changes next to short segments to the place that the measured values imply.

    Near the end, the neighbourhood's median still is the old level, and the first values after a
    large step were clipped to it. With known levels, a value is clipped to within ``reach`` of the
    two levels that it can belong to.
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
    values: Floats,
    y: Floats,
    sums: Sums,
    scale: float,
    limit: float,
    sizes: Sizes,
    least: int,
    memo: Memo,
    inner: Inner,
) -> tuple[Ints, Floats]:
    """Find the changes of a series with one value at each position: places and strengths.

    values, y: (n,), n >= 2, as measured and clipped. sums: running sums of y. scale: robust
    deviation of the values. limit: least strength of a change. least: minimum values of a side. A
    greedy binary segmentation starts with the strongest split. Every change is then moved to its
    best place between its neighbours and must pass there again; the weakest is dropped first.
    """
    found = _greedy(y, sums, sizes, limit, least, memo, inner, np.array([0, len(y)]))
    edges, strengths = _settled(y, sums, found, sizes, limit, least, memo)
    # Without a dropped change its neighbour may move to the dropped place and leave its own, which
    # is then a split of a segment that passes.
    while len(edges) < len(found):
        found = _greedy(y, sums, sizes, limit, least, memo, inner, edges)
        more, theirs = _settled(y, sums, found, sizes, limit, least, memo)
        if len(more) <= len(edges):
            break
        edges, strengths = more, theirs
    stairs = _stairs(y, sums, edges, sizes, limit, least, memo)
    if len(stairs) > len(edges):
        needed = inner_limit(limit)
        steps, theirs = _settled(y, sums, stairs, sizes, needed, least, memo)
        if len(steps) > len(edges) and _beyond_lines(y, sums, edges, steps, least, memo) >= limit:
            edges, strengths = steps, theirs
    moved = _relocated(values, edges, CLIP * scale, least)
    return moved[1 : len(moved) - 1].copy(), strengths


@compiled
def _settled(
    y: Floats, sums: Sums, found: Ints, sizes: Sizes, limit: float, least: int, memo: Memo
) -> tuple[Ints, Floats]:
    """Keep the changes that stay significant between their neighbours, at their best places."""
    edges = found.copy()
    while True:
        changes = len(edges) - 2
        for i in range(1, changes + 1):
            edges[i] = cached_interval(y, sums, edges[i - 1], edges[i + 1], least, memo)[1]
        strengths = strengths_of(y, sums, edges, sizes, least, memo)
        if changes == 0 or np.min(strengths) >= limit:
            return edges, strengths
        weakest = np.argmin(strengths) + 1
        edges = np.concatenate((edges[:weakest], edges[weakest + 1 :]))


@compiled
def _beyond_lines(y: Floats, sums: Sums, edges: Ints, steps: Ints, least: int, memo: Memo) -> float:
    """Return how much better steps explain a series than a straight line in each segment."""
    lines = 0.0
    for s in range(len(edges) - 1):
        around = cached_interval(y, sums, edges[s], edges[s + 1], least, memo)[2]
        lines += around - line_gain(sums[0], sums[1], edges[s], edges[s + 1])
    rest = np.sum(parts_of(y, sums, steps, least, memo)[:, 2])
    if lines <= rest:
        return 0.0
    return evidence(lines - rest, max(rest, SMALLEST_GAIN), float(len(y) - len(steps)), 1.0)


@compiled
def linked(y: Floats, sums: Sums, sizes: Sizes, limit: float, least: int, memo: Memo) -> Sizes:
    """Return ``sizes`` with the autocorrelation to use: the known one, or an estimated one.

    A change that is not known looks like autocorrelation, and would hide itself and others. The
    estimate is therefore that around the levels of a segmentation without any guard.
    """
    if sizes.phi >= 0.0:
        return sizes
    edges = _unguarded(y, sums, np.array([0, len(y)]), sizes, limit, least, memo)
    parts = parts_of(y, sums, edges, least, memo)
    phi = counted_phi(np.sum(parts[:, 3]), np.sum(parts[:, 4]), len(y), len(parts) - 1)
    return Sizes(
        sizes.share,
        sizes.smallest,
        sizes.tail,
        sizes.prior,
        sizes.sure,
        sizes.doubted,
        sizes.trust * phi,
        sizes.trust * PHI_NEAR,
        sizes.trust,
    )


@compiled
def _unguarded(
    y: Floats, sums: Sums, begun: Ints, sizes: Sizes, limit: float, least: int, memo: Memo
) -> Ints:
    """Add the strongest split to those in ``begun``, without guards, as long as one is strong."""
    edges = begun
    while True:
        parts = parts_of(y, sums, edges, least, memo)
        largest, strongest = 0.0, -1
        for s in range(len(parts)):
            if parts[s, 0] > largest and _plain_noise(edges, parts, s, sizes, limit)[1] > 0.0:
                largest, strongest = parts[s, 0], s
        if strongest < 0:
            return edges
        split = np.array([int(parts[strongest, 1])])
        edges = np.concatenate((edges[: strongest + 1], split, edges[strongest + 1 :]))


@compiled
def _plain_noise(
    edges: Ints, parts: Floats, s: int, sizes: Sizes, limit: float
) -> tuple[float, float]:
    """Return the noise beside the best split of a segment, if it is strong without guards.

    That is the remaining squared error and its degrees of freedom; (0, 0) if it is not strong.
    """
    gain = parts[s, 0]
    around, free = local_noise(parts, edges, s, s + 1)
    if gain <= 0.0 or free < 2.0:
        return 0.0, 0.0
    rest, degrees = moderated(around - gain, free - 1.0, sizes)
    if evidence(gain, rest, degrees, 1.0) < limit:
        return 0.0, 0.0
    return rest, degrees


@compiled
def _stairs(
    y: Floats, sums: Sums, found: Ints, sizes: Sizes, limit: float, least: int, memo: Memo
) -> Ints:
    """Add possible changes where a series looks like stairs; otherwise change nothing.

    Steps in one direction look like a ramp until all of them are known, and each adds to the noise
    that hides the others. If the guard against ramps rejects a strong split, the segments are
    therefore split without the guards. The usual test follows: a true step stays significant
    between its neighbours; none of a ramp's splits does.
    """
    parts = parts_of(y, sums, found, least, memo)
    for s in range(len(parts)):
        noise = _plain_noise(found, parts, s, sizes, limit)
        line = line_gain(sums[0], sums[1], found[s], found[s + 1])
        if noise[1] > 0.0 and _is_ramp(parts[s, 0], line, noise, 1.0, sizes):
            return _unguarded(y, sums, found, sizes, limit, least, memo)
    return found


@compiled
def strengths_of(
    y: Floats, sums: Sums, edges: Ints, sizes: Sizes, least: int, memo: Memo
) -> Floats:
    """Return the strength of each change between its two neighbours.

    Returns (changes,).
    """
    parts = parts_of(y, sums, edges, least, memo)
    strengths = np.empty(len(edges) - 2)
    for i in range(len(strengths)):
        around, free = local_noise(parts, edges, i, i + 2)
        rest, degrees = moderated(around, max(free, 1.0), sizes)
        place = (edges[i], edges[i + 1], edges[i + 2])
        strengths[i] = strength(y, sums, place, (rest, degrees), sizes)
    return strengths
