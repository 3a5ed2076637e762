"""Compiled loops that compute means, noise and intervals of a series between its changes.

They use one mean per position and process all segments at once. The statistics of a segment are a
row of a table (segments, COLUMNS), in the unit of the scaled series.
"""

from __future__ import annotations

import math

import numpy as np

from changepoint.detection.between_positions import moderated
from changepoint.detection.scan import mean_factor
from changepoint.jit import compiled
from changepoint.noise import CLIP, NORMAL_QUANTILE, PAIR_QUANTILE
from changepoint.series import LARGEST_EXPONENT, RESOLUTION, Floats, Ints

COUNT, POSITIONS, CENTRE, SCATTER, INNER, MOVED, LOW, HIGH, MIDDLE, GAP, REPEATS, COLUMNS = range(
    12
)
"""Columns of a segment.

Measured values and positions. The robust mean of the values. Sums of squares: of the position
means, weighted by their counts, around the centre; of replicates around their position. Number of
clipped values, alone or with their position. Lower and upper clipping limit of positions, or the
lowest and highest position where none can be an outlier. Median of the position means. Smallest
difference between unequal values, inf without any; 1 if values repeat.
"""

DRIFTS = 0.9
"""Standard errors from which a common slope counts as drift. In three of eight series without drift
it is larger, and effect intervals in their middle are then 1.7 times as wide. At twice the value,
intervals beside a drift of 5 % in 500 positions would miss a quarter of the true steps."""

FEWEST_CLIPPED = 4
"""Fewest positions of a segment in which one can be an outlier."""


@compiled
def positions(values: Floats, clipped: Floats, offsets: Ints) -> tuple[Floats, Floats, Floats]:
    """Compute each position's mean of clipped values, their scatter, and the clipped count."""
    n = len(offsets) - 1
    means = np.empty(n)
    squares = np.zeros(n)
    moved = np.zeros(n)
    for p in range(n):
        start, stop = offsets[p], offsets[p + 1]
        total = 0.0
        for i in range(start, stop):
            total += clipped[i]
            moved[p] += clipped[i] != values[i]
        means[p] = total / (stop - start)
        for i in range(start, stop):
            squares[p] += (clipped[i] - means[p]) ** 2
    return means, squares, moved


@compiled
def middle_and_scale(ordered: Floats) -> tuple[float, float]:
    """Return the median of sorted values, and a robust standard deviation around it.

    The deviation comes from the same quantile as that of replicates (``PAIR_QUANTILE``), so that
    two modes count as noise; a quarter of the values may be spikes. Going outwards from the median
    on both sides visits the distances in order.
    """
    n = len(ordered)
    middle = 0.5 * (ordered[(n - 1) // 2] + ordered[n // 2])
    below = (n - 1) // 2
    above = below + 1
    distance = 0.0
    for _ in range(int(PAIR_QUANTILE * (n - 1)) + 1):
        down = middle - ordered[below] if below >= 0 else np.inf
        up = ordered[above] - middle if above < n else np.inf
        distance = min(down, up)
        if down <= up:
            below -= 1
        else:
            above += 1
    return middle, distance / NORMAL_QUANTILE


@compiled
def segments(
    means: Floats, inner: tuple[Floats, Floats], offsets: Ints, ordered: Floats, edges: Ints
) -> Floats:
    """Compute the statistics of each segment between changes, except gaps and repeated values.

    means: (positions,); inner: squares and clipped values of each, empty if each is one value.
    offsets: of the values. ordered: the means sorted inside segments; edges: (segments + 1,).
    """
    squares, moved = inner
    table = np.zeros((len(edges) - 1, COLUMNS))
    for s in range(len(edges) - 1):
        start, stop = edges[s], edges[s + 1]
        middle, scale = middle_and_scale(ordered[start:stop])
        low, high = ordered[start], ordered[stop - 1]
        if stop - start >= FEWEST_CLIPPED and scale > RESOLUTION:
            low, high = middle - CLIP * scale, middle + CLIP * scale
        # Around the median, so that a sum of a million values keeps its precision.
        total = 0.0
        for i in range(start, stop):
            away = min(max(means[i], low), high)
            count = float(offsets[i + 1] - offsets[i])
            total += count * (away - middle)
            if away != means[i]:
                table[s, MOVED] += count
            elif len(moved):
                table[s, MOVED] += moved[i]
            if len(squares):
                table[s, INNER] += squares[i]
        count = float(offsets[stop] - offsets[start])
        centre = middle + total / count
        for i in range(start, stop):
            away = min(max(means[i], low), high) - centre
            table[s, SCATTER] += float(offsets[i + 1] - offsets[i]) * away * away
        table[s, COUNT], table[s, POSITIONS] = count, float(stop - start)
        table[s, CENTRE], table[s, MIDDLE] = centre, middle
        table[s, LOW], table[s, HIGH] = low, high
    return table


@compiled
def deviations(means: Floats, table: Floats, edges: Ints) -> Floats:
    """Return the distance of each position from the median of its segment.

    Returns (positions,).
    """
    out = np.empty(len(means))
    for s in range(len(edges) - 1):
        for i in range(edges[s], edges[s + 1]):
            out[i] = abs(means[i] - table[s, MIDDLE])
    return out


@compiled
def shape(means: Floats, table: Floats, edges: Ints, reach: float) -> tuple[float, float]:
    """Return the share of positions beyond ``reach``, and the correlation of neighbours.

    The correlation is of positions clipped at ``reach`` from the median of their segment, without
    the correction for bias.
    """
    tails = 0
    products = 0.0
    squares = 0.0
    for s in range(len(edges) - 1):
        start, stop = edges[s], edges[s + 1]
        mean = 0.0
        for i in range(start, stop):
            away = means[i] - table[s, MIDDLE]
            tails += abs(away) > reach
            mean += min(max(away, -reach), reach) / (stop - start)
        former = 0.0
        for i in range(start, stop):
            away = min(max(means[i] - table[s, MIDDLE], -reach), reach) - mean
            squares += away * away
            products += away * former
            former = away
    return tails / len(means), products / squares if squares > 0.0 else 0.0


@compiled
def slope(means: Floats, offsets: Ints, table: Floats, edges: Ints) -> tuple[float, float]:
    """Return the common slope of all segments by least squares, and the squares it rests on.

    The slope is that of one position, of the clipped means. The variance of a value divided by the
    second number is that of the slope.
    """
    products = 0.0
    squares = 0.0
    for s in range(len(edges) - 1):
        middle = centre_of(offsets, edges[s], edges[s + 1])
        for i in range(edges[s], edges[s + 1]):
            inside = min(max(means[i], table[s, LOW]), table[s, HIGH])
            weighted = float(offsets[i + 1] - offsets[i]) * (i - middle)
            products += weighted * (inside - table[s, CENTRE])
            squares += weighted * (i - middle)
    return (products / squares if squares > 0.0 else 0.0), squares


@compiled
def centre_of(offsets: Ints, start: int, stop: int) -> float:
    """Return the mean position of the values of a segment."""
    total = 0.0
    for i in range(start, stop):
        total += float(i) * (offsets[i + 1] - offsets[i])
    return total / float(offsets[stop] - offsets[start])


@compiled
def _drift(slopes: tuple[float, float], variance: float, phi: float) -> tuple[float, float]:
    """Return the slope that counts, and its variance; both are 0 if the series hardly drifts.

    slopes: from :func:`slope`. variance: of a value.
    """
    drift, squares = slopes
    if drift == 0.0:
        return 0.0, 0.0
    error = variance * (1.0 + phi) / (1.0 - phi) / squares
    return (drift, error) if abs(drift) > DRIFTS * math.sqrt(error) else (0.0, 0.0)


@compiled
def _is_replicated(count: float, places: float) -> bool:
    return count - places >= max(2.0, places / 2.0)


@compiled
def _quantum(row: Floats) -> float:
    return row[GAP] if row[REPEATS] > 0.0 and row[GAP] < np.inf else 0.0


@compiled
def _noise(
    left: Floats, right: Floats, units: tuple[float, float], phi: float
) -> tuple[float, float]:
    """Return the variance of one value around two levels, and its degrees of freedom.

    The values count as independent: the effect of dependence on the variance of a mean is not
    included.
    """
    u, v = units
    places = left[POSITIONS] + right[POSITIONS]
    count = left[COUNT] + right[COUNT]
    scatter = left[SCATTER] / (u * u) + right[SCATTER] / (v * v)
    between = max(places - 2.0, 0.0)
    if between > 0.0:
        # Similar neighbours scatter less around their own mean than around the true level.
        lost = mean_factor(phi, left[POSITIONS]) + mean_factor(phi, right[POSITIONS])
        scatter *= between / max(places - lost, 0.5 * between)
    if _is_replicated(count, places):
        degrees = count - places
        within = (left[INNER] / (u * u) + right[INNER] / (v * v)) / degrees
        variance, known = moderated(within, degrees, count / places, scatter, between)
    else:
        known = max(between, 1.0)
        variance = scatter / known
    step = max(_quantum(left) / u, _quantum(right) / v, RESOLUTION)
    # A mean of clipped values is a mean of the unclipped ones: its variance is that of the clipped
    # values over the square of the unclipped share (Huber, Annals of Mathematical Statistics 35).
    share = 1.0 - min((left[MOVED] + right[MOVED]) / count, 0.5)
    return max(variance / (share * share), step * step), known


@compiled
def degrees(table: Floats, phi: float) -> Floats:
    """Return the degrees of freedom of the noise around each change.

    Returns (segments - 1,).
    """
    out = np.empty(len(table) - 1)
    for c in range(len(table) - 1):
        out[c] = _noise(table[c], table[c + 1], (1.0, 1.0), phi)[1]
    return out


@compiled
def effects(
    table: Floats,
    levels: Floats,
    centres: Floats,
    unit: float,
    phi: float,
    quantiles: Floats,
    slopes: tuple[float, float],
) -> Floats:
    """Return the confidence interval of the relative change of level at each change.

    Returns (segments - 1, 2).

    levels: (segments,) in the caller's unit; ``unit`` converts from the unit of the scaled series.
    centres: (segments - 1, 2) positions from the change to the centres of the segments before and
    after. quantiles: Student's, (segments - 1,). slopes: from :func:`slope`, (0, 0) without drift:
    the interval is that of the step at the change, which is not the difference of the levels of two
    segments that drift.
    """
    out = np.empty((len(table) - 1, 2))
    for c in range(len(out)):
        left, right = table[c], table[c + 1]
        change = (levels[c + 1] - levels[c]) / abs(levels[c]) if levels[c] != 0.0 else np.inf
        drift, doubt = _drift(slopes, _noise(left, right, (1.0, 1.0), phi)[0], phi)
        before = levels[c] + unit * drift * centres[c, 0]
        after = levels[c + 1] - unit * drift * centres[c, 1]
        doubt *= (centres[c, 0] + centres[c, 1]) ** 2
        shares = (
            mean_factor(phi, left[POSITIONS]) / left[COUNT],
            mean_factor(phi, right[POSITIONS]) / right[COUNT],
        )
        variance = _noise(left, right, (1.0, 1.0), phi)[0]
        # Half widths of the intervals of both levels.
        reach = quantiles[c] * math.sqrt(variance * shares[0])
        other = quantiles[c] * math.sqrt(variance * shares[1])
        u, v = abs(before) / unit, abs(after) / unit
        if u <= reach:
            out[c, 0], out[c, 1] = -np.inf, np.inf
            continue
        if v > other and before * after > 0.0:
            variance = _noise(left, right, (u, v), phi)[0]
            spread = quantiles[c] * math.sqrt(variance * (shares[0] + shares[1]) + doubt / (u * v))
            ratio = after / before
            low = ratio * math.exp(-min(spread, LARGEST_EXPONENT)) - 1.0
            high = ratio * math.exp(min(spread, LARGEST_EXPONENT)) - 1.0
        else:
            # Fieller, Journal of the Royal Statistical Society B 16, 1954, for independent means.
            ratio = after / before
            lost = (reach / u) ** 2
            spread = math.sqrt(other * other * (1.0 - lost) + (ratio * reach) ** 2) / u
            low = (ratio - spread) / (1.0 - lost) - 1.0
            high = (ratio + spread) / (1.0 - lost) - 1.0
        if before < 0.0:
            low, high = -high, -low
        out[c, 0], out[c, 1] = min(low, change), max(high, change)
    return out


@compiled
def places(
    means: Floats, offsets: Ints, table: Floats, edges: Ints, phi: float, drops: Floats
) -> Ints:
    """Return the first and the last position that may be the true place of each change.

    Returns (segments - 1, 2).

    drops: (segments - 1,) how much squared error, in noise variances, a split at such a position
    may cost compared with the best place.
    """
    out = np.empty((len(table) - 1, 2), np.int64)
    scratch = np.empty(len(means))
    most = (1.0 + phi) / (1.0 - phi)
    for c in range(len(out)):
        start, at, stop = edges[c], edges[c + 1], edges[c + 2]
        left, right = table[c], table[c + 1]
        # A position next to the change may belong to either level: it is clipped only as far as it
        # is an outlier of both.
        low, high = min(left[LOW], right[LOW]), max(left[HIGH], right[HIGH])
        count = float(offsets[stop] - offsets[start])
        zero = left[CENTRE]
        total = 0.0
        for i in range(start, stop):
            size = float(offsets[i + 1] - offsets[i])
            total += size * (min(max(means[i], low), high) - zero)
        mean = total / count
        weight = 0.0
        excess = 0.0
        best, peak = 0.0, start
        for i in range(start, stop - 1):
            size = float(offsets[i + 1] - offsets[i])
            weight += size
            excess += size * (min(max(means[i], low), high) - zero - mean)
            scratch[i] = excess * excess * count / (weight * (count - weight))
            if scratch[i] > best:
                best, peak = scratch[i], i
        variance = drops[c] * _noise(left, right, (1.0, 1.0), phi)[0]
        # No place can cost more than this: most are ruled out without a power of phi.
        ruled_out = best - variance * most
        out[c, 0], out[c, 1] = at, at
        for i in range(start, at - 1):
            if scratch[i] < ruled_out:
                continue
            if scratch[i] >= best - variance * _dependence(phi, abs(i - peak)):
                out[c, 0] = i + 1
                break
        for i in range(stop - 2, at - 1, -1):
            if scratch[i] < ruled_out:
                continue
            if scratch[i] >= best - variance * _dependence(phi, abs(i - peak)):
                out[c, 1] = i + 1
                break
    return out


@compiled
def _dependence(phi: float, distance: int) -> float:
    """Return the factor by which correlation of neighbours widens the interval of a place."""
    return mean_factor(phi, float(distance)) if distance > 0 else 1.0
