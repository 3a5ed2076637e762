"""Noise that jumps between two levels, as when a page cache is sometimes warm, sometimes cold.

Treated as one wide noise, two modes hide every change that is small against their distance. Here
the density of the noise is a mixture of two normal ones, ``distance`` apart. A split is judged by
its likelihood ratio: how well each value fits either mode around either level.
"""

from __future__ import annotations

import math

import numpy as np

from changepoint.detection.scan import CLIP, Sums
from changepoint.jit import compiled
from changepoint.series import Floats, Ints

Modes = tuple[float, float, float]
"""Distance of the second mode below the first (negative if above), its share of the values, and the
standard deviation of each; in the unit of the values."""

BINS = 40
"""Bins of the residuals' histogram, which extends ``RANGE`` standard deviations either way. The
mixture is fitted to the bins, at a cost independent of the length."""

RANGE = 4.0
"""Extent of the bins in standard deviations on either side; the outermost bins include everything
beyond."""

ITERATIONS = 40
"""Maximum iterations of a fit; clearly separate modes need only a few."""

SETTLED = 1e-4
"""A fit has converged when it moves by less than this share of the deviation."""

FEWEST = 40
"""Fewest values for distinguishing two modes from one."""

PROOF = 25.0
"""Required value of twice the log likelihood ratio of two modes against one. 1 % of normal series
reach 12; series of 60 values with two modes four deviations apart reach 25."""

SEPARATION = 2.5
"""Minimum distance of the modes in deviations. Closer modes act like noise with one mode, which
loses nothing when treated as normal."""

HOPELESS = 1.6
"""Distance of the modes, in deviations, below which a fit is abandoned. Of 12,000 fits that ended
with two modes, none had a smaller distance than 1.8 on its way; fits of normal noise end after two
steps."""

SMALLEST_SHARE = 0.1
"""Minimum share of each mode: rarer values are spikes, and were clipped."""


@compiled
def two_modes(y: Floats, sums: Sums, edges: Ints, rest: float) -> Modes:
    """Return the two levels that the noise jumps between; zeros if it has only one level.

    y: (n,) clipped values; sums: their running sums. edges: (segments + 1,). rest: the squared
    error of the values around the means of their segments.
    """
    n = len(y)
    if n < FEWEST or rest <= 0.0:
        return 0.0, 0.0, 0.0
    deviation = math.sqrt(rest / n)
    lower, upper, share, variance, gained = _mixture(_histogram(y, sums, edges, deviation))
    apart = upper - lower
    if (
        gained < PROOF
        or apart < SEPARATION * math.sqrt(variance)
        or min(share, 1.0 - share) < SMALLEST_SHARE
    ):
        return 0.0, 0.0, 0.0
    # The more frequent mode is the level, so that an intermittent mode is no new level.
    if share <= 0.5:
        return apart * deviation, share, math.sqrt(variance) * deviation
    return -apart * deviation, 1.0 - share, math.sqrt(variance) * deviation


@compiled
def _mean(sums: Sums, edges: Ints, s: int) -> float:
    """Return the mean of the values of a segment."""
    start, stop = edges[s], edges[s + 1]
    return float((sums[0][stop] - sums[0][start]) / (stop - start))


@compiled
def _histogram(y: Floats, sums: Sums, edges: Ints, deviation: float) -> Floats:
    """Count the distances of values from the mean of their segment, in standard deviations."""
    counts = np.zeros(BINS, np.int64)
    per = BINS / (2.0 * RANGE * deviation)
    for s in range(len(edges) - 1):
        shift = 0.5 * BINS - _mean(sums, edges, s) * per
        for x in y[edges[s] : edges[s + 1]]:
            counts[min(max(int(x * per + shift), 0), BINS - 1)] += 1
    return counts.astype(np.float64)


@compiled
def _mixture(counts: Floats) -> tuple[float, float, float, float, float]:
    """Fit two normal distributions of equal variance to a histogram of distances.

    Returns the lower and the upper mean, the share of the lower, the variance, and twice the gain
    in log likelihood over one mode. Starts from the best split of the bins in two (Otsu, IEEE
    Transactions on Systems, Man and Cybernetics 9, 1979).
    """
    at = (np.arange(BINS) + 0.5) * 2.0 * RANGE / BINS - RANGE
    n = float(np.sum(counts))
    mean = float(np.sum(counts * at) / n)
    single = float(np.sum(counts * (at - mean) ** 2) / n)
    best = -1.0
    lower, upper, share = float(mean), float(mean), 0.5
    weight = 0.0
    total = 0.0
    for b in range(BINS - 1):
        weight += counts[b]
        total += counts[b] * at[b]
        if 0.0 < weight < n:
            left, right = total / weight, (n * mean - total) / (n - weight)
            between = weight * (n - weight) * (left - right) ** 2
            if between > best:
                best, lower, upper, share = between, left, right, weight / n
    # The variance is at least that of a bin.
    least = (2.0 * RANGE / BINS) ** 2 / 12.0
    variance = float(max(single - share * (1.0 - share) * (upper - lower) ** 2, least))
    odds = np.empty(BINS)
    for _ in range(ITERATIONS):
        _set_odds(at, 0.5 * (lower + upper), (upper - lower) / variance, odds)
        low = low_sum = high_sum = squares = 0.0
        for b in range(BINS):
            r = counts[b] * share / (share + (1.0 - share) * odds[b])
            rest = counts[b] - r
            low += r
            low_sum += r * at[b]
            high_sum += rest * at[b]
            squares += r * (at[b] - lower) ** 2 + rest * (at[b] - upper) ** 2
        if low < 1.0 or n - low < 1.0:
            return mean, mean, 0.0, single, 0.0
        moved = abs(low_sum / low - lower) + abs(high_sum / (n - low) - upper)
        lower, upper = float(low_sum / low), float(high_sum / (n - low))
        share, variance = float(low / n), float(max(squares / n, least))
        if (upper - lower) ** 2 < HOPELESS * HOPELESS * variance:
            return mean, mean, 0.0, single, 0.0
        if moved < SETTLED:
            break
    likelihood = -0.5 * n * math.log(variance)
    for b in range(BINS):
        if counts[b] > 0.0:
            one = share * math.exp(-0.5 * (at[b] - lower) ** 2 / variance)
            two = (1.0 - share) * math.exp(-0.5 * (at[b] - upper) ** 2 / variance)
            likelihood += counts[b] * math.log(max(one + two, 1e-300))
    alone = -0.5 * n - 0.5 * n * math.log(single)
    return lower, upper, share, variance, 2.0 * (likelihood - alone)


@compiled
def _set_odds(at: Floats, middle: float, slope: float, odds: Floats) -> None:
    """Compute how much likelier each value is in the upper mode than in the lower one.

    at: (BINS,) middles of bins. middle: the middle between the modes. slope: their distance divided
    by their variance. The logarithm of the odds is linear, so from bin to bin the odds grow by a
    constant factor. Going outwards from the middle, the odds may correctly end at 0 or at infinity,
    but must not start there.
    """
    width = 2.0 * RANGE / BINS
    first = min(max(int((middle + RANGE) / width), 0), BINS - 1)
    odds[first] = math.exp(slope * (at[first] - middle))
    up, down = math.exp(slope * width), math.exp(-slope * width)
    for b in range(first + 1, BINS):
        odds[b] = odds[b - 1] * up
    for b in range(first - 1, -1, -1):
        odds[b] = odds[b + 1] * down


@compiled
def _second(x: float, modes: Modes) -> tuple[float, float]:
    """Return the log density of a distance from the level, and the second mode's probability.

    Beyond ``CLIP`` deviations from both modes the density is constant: a spike that was clipped for
    the noise of both modes together may still be far out for one.
    """
    distance, share, deviation = modes
    first = -0.5 * (x / deviation) ** 2
    second = -0.5 * ((x + distance) / deviation) ** 2
    top = max(first, second)
    one = (1.0 - share) * math.exp(first - top)
    two = share * math.exp(second - top)
    density = max(top + math.log(one + two), -0.5 * CLIP * CLIP)
    return density - math.log(deviation), two / (one + two)


@compiled
def _plain(x: float, modes: Modes) -> float:
    """Remove the offset of its mode from a distance; return 0 if it fits neither mode."""
    plain = x + _second(x, modes)[1] * modes[0]
    return plain if abs(plain) <= CLIP * modes[2] else 0.0


@compiled
def _settle(y: Floats, level: float, modes: Modes) -> tuple[float, float]:
    """Return the likeliest level of some values near a start value, and its log likelihood."""
    for _ in range(ITERATIONS):
        step = 0.0
        for x in y:
            step += _plain(x - level, modes)
        step /= len(y)
        level += step
        if abs(step) < SETTLED * modes[2]:
            break
    likelihood = 0.0
    for x in y:
        likelihood += _second(x - level, modes)[0]
    return likelihood, level


@compiled
def level_of(y: Floats, modes: Modes) -> tuple[float, float]:
    """Return the likeliest level of some values whose noise has two modes, and its likelihood.

    The likelihood has local maxima where the modes are swapped, and at every cluster of outliers.
    The search therefore starts from the mean and from the median as either mode.
    """
    best, level = _settle(y, float(np.mean(y)) + modes[1] * modes[0], modes)
    median = float(np.median(y))
    for start in (median, median + modes[0]):
        likelihood, other = _settle(y, start, modes)
        if likelihood > best:
            best, level = likelihood, other
    return best, level


@compiled
def demixed(y: Floats, edges: Ints, modes: Modes) -> tuple[Floats, Floats]:
    """Return the values with the offset of their noise mode removed, and each segment's level.

    Returns values (n,) and levels (segments,).
    """
    out = np.empty(len(y))
    levels = np.empty(len(edges) - 1)
    for s in range(len(edges) - 1):
        levels[s] = level_of(y[edges[s] : edges[s + 1]], modes)[1]
        for i in range(edges[s], edges[s + 1]):
            out[i] = levels[s] + _plain(y[i] - levels[s], modes)
    return out, levels


@compiled
def place(y: Floats, left: float, right: float, modes: Modes, least: int) -> int:
    """Return the likeliest place at which values change from one given level to another."""
    n = len(y)
    ratio = 0.0
    best = -np.inf
    at = -1
    for i in range(n - least + 1):
        if i >= least and ratio > best:
            best, at = ratio, i
        if i < n:
            ratio += _second(y[i] - left, modes)[0] - _second(y[i] - right, modes)[0]
    return at


@compiled
def best_split(y: Floats, first: int, modes: Modes, least: int) -> tuple[float, int]:
    """Return the likeliest split near ``first`` in noise with two modes, and its evidence."""
    whole = level_of(y, modes)[0]
    best = -np.inf
    at = -1
    tau = first
    for _ in range(ITERATIONS):
        one, left = level_of(y[:tau], modes)
        two, right = level_of(y[tau:], modes)
        if one + two <= best:
            break
        best, at = one + two, tau
        tau = place(y, left, right, modes, least)
    return 2.0 * (best - whole), at


@compiled
def refit(y: Floats, edges: Ints, modes: Modes, smallest: float) -> Modes:
    """Estimate the two modes of the noise again from all values around their segments' levels.

    smallest: least variance. The variance is corrected for the estimation of the levels.
    """
    for _ in range(3):
        _, levels = demixed(y, edges, modes)
        fitting = low = low_sum = squares = 0.0
        for s in range(len(levels)):
            for i in range(edges[s], edges[s + 1]):
                x = y[i] - levels[s]
                r = _second(x, modes)[1]
                if abs(x + r * modes[0]) <= CLIP * modes[2]:
                    fitting += 1.0
                    low += r
                    low_sum -= r * x
                    squares += r * (x + modes[0]) ** 2 + (1.0 - r) * x * x
        if low < 1.0:
            return modes
        variance = max(squares / max(fitting - len(levels) - 1.0, 1.0), smallest)
        share = min(low / fitting, 1.0 - 0.5 / fitting)
        modes = (low_sum / low, share, math.sqrt(variance))
    return modes
