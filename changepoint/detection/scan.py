"""Compiled loops of the default method: clip outliers, find the best split, weigh its evidence.

All functions work on one value per position.

A search of 10,000 values spends its time reading memory. Sums of squares therefore use ``LANES``
partial sums, which the processor adds in parallel, and in the same order for every caller.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from changepoint.jit import compiled
from changepoint.noise import NORMAL_MEDIAN
from changepoint.series import Floats

Sums = tuple[Floats, Floats]
"""Running sums, each (n + 1,): of the values before an index, and of value times index."""


class Sizes(NamedTuple):
    """What a search knows before it splits a series: the clipping, the noise, the autocorrelation.

    share: share of clipped values. smallest: lower bound of the variance. tail: weight of a side's
    excess kurtosis against a short side (``TAIL`` or 0). prior: variance of a position according to
    its replicates. sure: degrees of freedom of ``prior``; doubted: the same where the scatter is
    larger. phi: autocorrelation; negative until ``segment.linked`` estimates it. near: addition to
    it for short sides. trust: weight, 0 to 1, of three corrections that a ladder does not use: the
    estimated autocorrelation, the addition to it, and the guard against ramps.
    """

    share: float
    smallest: float
    tail: float
    prior: float
    sure: float
    doubted: float
    phi: float
    near: float
    trust: float


LANES = 4
"""Number of partial sums of squares that are computed in parallel."""

HALF_WINDOW = 5
"""Neighbours on either side whose median is the reference for clipping a value: a spike is one or
two values, and with five outliers among eleven values the median is still not an outlier."""

CLIP = 4.0
"""Robust deviations from the median of the neighbours at which a value is clipped: a spike then
weighs no more than an unlucky value, and a large step still counts in its first nights."""

FAR = 1.0
"""Robust deviations that clipping leaves of a far outlier. They are fewer than ``CLIP``, because
such a value is more likely a spike, but enough for a step of any size to show within a few
nights."""

SLOPE = 1.0
"""Slope of the clipping: each deviation by which an outlier is further out than ``CLIP`` lowers its
clipped value by this many deviations, down to ``FAR``."""

LEAST = 3
"""Minimum values of a side of a split: one or two may be a spike."""

FAR_OUT = (CLIP - FAR) / SLOPE + CLIP - FAR
"""Distance, in deviations, by which clipping moves a far outlier at least: a value moved this far
was clipped to ``FAR``."""

FAR_WEIGHT = 0.3
"""Weight of a far outlier in the share of clipped values, which raises the evidence required of a
short side. The weight is small because a far outlier is certainly a spike: values that may or may
not be spikes cause the false alarms."""

TAIL = 0.35
"""A strength with a short side is divided by 1 + this times the excess kurtosis of the other side:
three consecutive values of heavy-tailed noise reach a limit for normal noise more often, and a
longer side's mean is nearly normal."""

TAIL_MARGIN = 2.0
"""Deduction from the excess kurtosis that ``TAIL`` multiplies, divided by the square root of the
number of values: 0.4 of the standard error of the kurtosis of normal values."""

SMALL_SIDE = 12
"""Values of a side below which a change must show even without the strongest value of that side."""

SPARE_SHARE = 0.2
"""Share of the evidence that must remain without the strongest value of a short side
(``SMALL_SIDE``), if nothing was clipped."""

SPARE_SLOPE = 45.0
"""Increase of ``SPARE_SHARE`` per share of clipped values: where spikes are common, one of three
values proves nothing. At 1.8 % clipped, all of the evidence must remain."""

RAMP_MARGIN = 5.0
"""Minimum evidence, in squared deviations, for the part of a step that a straight line does not
explain."""

PHI_MARGIN = 1.35
"""Number of standard errors above zero from which an estimated autocorrelation counts. In a series
of n values this limit is lowered by ``PHI_SHORT`` / n, because the estimate is too low in short
series."""

PHI_SHORT = 8.0
"""The smallest estimated autocorrelation that counts is lowered by this divided by the number of
values."""

PHI_LONG = 0.19
"""Autocorrelation that is ignored, in addition to its uncertainty: so little hardly affects a
lasting level."""

PHI_NEAR = 0.5
"""Addition to a significant autocorrelation where a side is shorter than ``NEAR_SIDE``: a drift of
the machine over days looks like a level of days, and most false alarms of autocorrelated series
have such a side. Chosen together with ``PHI_LONG``: at 3 alarms in 1000 nights with a coefficient
of .5, this penalty on short sides finds one step in twenty more."""

NEAR_SIDE = 40
"""Values of a side from which ``PHI_NEAR`` is not added."""

GRID = 0.02
"""Relative step of the grid for the clipping scale. The scale, and with it every clipped value,
then stays the same on most nights, so a growing series need not be clipped again."""

MAX_PHI = 0.9
"""Largest corrected autocorrelation: beyond it a level has no meaning."""


@compiled
def on_grid(scale: float) -> float:
    """Round ``scale`` to a grid of relative steps, so that tiny changes of it have no effect."""
    if scale <= 0.0:
        return 0.0
    return math.exp(GRID * math.floor(math.log(scale) / GRID + 0.5))


@compiled
def rough_scale(values: Floats) -> float:
    """Return a robust deviation from the differences of neighbours, used only for clipping.

    The median of the differences decides. If it is 0, because most neighbours are equal, half of
    their mean is used instead.
    """
    # A loop: for operations on two arrays numba also compiles the message about unequal shapes.
    gaps = np.empty(len(values) - 1)
    for i in range(len(gaps)):
        gaps[i] = abs(values[i + 1] - values[i])
    return scale_of_gaps(float(np.median(gaps)), gaps)


@compiled
def scale_of_gaps(median: float, gaps: Floats) -> float:
    """Return a robust deviation, on a grid, from the differences of neighbouring values.

    Gaps are (n - 1,), in the order of the series.
    """
    if median == 0.0:
        return on_grid(0.5 * float(np.mean(gaps)))
    return on_grid(median / (NORMAL_MEDIAN * math.sqrt(2.0)))


@compiled
def set_clipped(values: Floats, scale: float, start: int, out: Floats) -> None:
    """Write values to an array from ``start`` on, with outliers clipped to their neighbours.

    An outlier is more than ``CLIP`` scales from the median of its neighbourhood. If most of the
    neighbourhood is within reach of a value, so is the median, which need not be computed.
    """
    n = len(values)
    reach = CLIP * scale
    for i in range(start, n):
        value = values[i]
        out[i] = value
        first, last = max(i - HALF_WINDOW, 0), min(i + HALF_WINDOW + 1, n)
        half = (last - first) // 2
        near = 0
        j = first
        while j < last and near <= half:
            near += abs(values[j] - value) <= reach
            j += 1
        if near <= half:
            ordered = np.sort(values[first:last])
            middle = 0.5 * (ordered[(len(ordered) - 1) // 2] + ordered[half])
            away = abs(value - middle)
            if away > reach:
                # An infinite slope at a scale of 0 would be 0 * inf: compare without dividing.
                kept = max(FAR * scale, reach - SLOPE * (away - reach))
                out[i] = middle + math.copysign(kept, value - middle)


@compiled
def clipped_counts(values: Floats, y: Floats, scale: float) -> tuple[int, int]:
    """Return how many values are clipped, and how many of them are far outliers."""
    moved = 0
    far = 0
    # Both are compared for every value: without a branch the loop is vectorised.
    for i in range(len(values)):
        away = abs(y[i] - values[i])
        moved += away > 0.0
        far += away > FAR_OUT * scale
    return moved, far


@compiled
def share_of(moved: int, far: int, n: int) -> float:
    """Return the share of values that count as clipped; far outliers weigh less."""
    return (moved - far + FAR_WEIGHT * far) / n


@compiled
def clipped_share(values: Floats, y: Floats, scale: float) -> float:
    """Return the share of values that clipping changed; far outliers weigh less."""
    moved, far = clipped_counts(values, y, scale)
    return share_of(moved, far, len(values))


@compiled
def set_sums(values: Floats, start: int, sums: Sums) -> None:
    """Write the running sums of values from number ``start`` on; earlier sums exist already."""
    total, moment = sums
    for i in range(start, len(values)):
        total[i + 1] = total[i] + values[i]
        moment[i + 1] = moment[i] + i * values[i]


@compiled
def sums_of(values: Floats) -> Sums:
    """Return the running sums of all values of a series."""
    sums = (np.zeros(len(values) + 1), np.zeros(len(values) + 1))
    set_sums(values, 0, sums)
    return sums


@compiled
def squared_error(values: Floats, level: float) -> float:
    """Return the sum of the squared distances of values from a level."""
    a = b = c = d = 0.0
    whole = len(values) - len(values) % LANES
    for i in range(0, whole, LANES):
        a += (values[i] - level) ** 2
        b += (values[i + 1] - level) ** 2
        c += (values[i + 2] - level) ** 2
        d += (values[i + 3] - level) ** 2
    for i in range(whole, len(values)):
        a += (values[i] - level) ** 2
    return (a + b) + (c + d)


@compiled
def squared_differences(values: Floats, lag: int) -> float:
    """Return the sum of the squared differences between values ``lag`` apart."""
    a = b = c = d = 0.0
    whole = lag + max(len(values) - lag, 0) // LANES * LANES
    for i in range(lag, whole, LANES):
        a += (values[i] - values[i - lag]) ** 2
        b += (values[i + 1] - values[i + 1 - lag]) ** 2
        c += (values[i + 2] - values[i + 2 - lag]) ** 2
        d += (values[i + 3] - values[i + 3 - lag]) ** 2
    for i in range(whole, len(values)):
        a += (values[i] - values[i - lag]) ** 2
    return (a + b) + (c + d)


@compiled
def best_gain(total: Floats, start: int, stop: int, least: int) -> tuple[float, int]:
    """Return the split of a part of a series that lowers the squared error most, and by how much.

    Returns (gain, at) for the values [start, stop).

    total: (n + 1,) running sums of the values. least: minimum values of each side. (-1, -1) if
    there are too few values for two sides.
    """
    n = stop - start
    if n < 2 * least:
        return -1.0, -1
    best = -1.0
    at = -1
    base = total[start]
    mean = (total[stop] - base) / n
    for tau in range(start + least, stop - least + 1):
        k = float(tau - start)
        excess = total[tau] - base - k * mean
        gain = excess * excess / (k * (n - k))
        if gain > best:
            best = gain
            at = tau
    return best * n, at


@compiled
def line_gain(total: Floats, moment: Floats, start: int, stop: int) -> float:
    """Return by how much a straight line lowers the squared error of a part of a series.

    moment: (n + 1,) running sums of value times index.
    """
    n = float(stop - start)
    middle = 0.5 * (start + stop - 1)
    cross = float(moment[stop] - moment[start] - middle * (total[stop] - total[start]))
    return cross * cross * 12.0 / (n * (n * n - 1.0))


@compiled
def spare_gain(values: Floats, total: Floats, start: int, tau: int, stop: int) -> float:
    """Return the squared error that a split explains without its smaller side's strongest value."""
    left = float(total[tau] - total[start]) / (tau - start)
    right = float(total[stop] - total[tau]) / (stop - tau)
    first, last, mine, other = start, tau, left, right
    if stop - tau < tau - start:
        first, last, mine, other = tau, stop, right, left
    n = float(last - first)
    m = float(stop - start) - n
    sign = 1.0 if mine > other else -1.0
    best = 0.0
    for i in range(first, last):
        best = max(best, sign * float(values[i] - other))
    rest = (sign * (mine - other) * n - best) / (n - 1.0)
    if rest <= 0.0:
        return 0.0
    return rest * rest * (n - 1.0) * m / (n - 1.0 + m)


@compiled
def heaviness(values: Floats, total: Floats, place: tuple[int, int, int]) -> float:
    """Return how much heavier than normal the tails of a split's larger side are, 0 or more.

    place: start, split and stop.
    """
    first, last = place[0], place[1]
    if place[2] - place[1] > last - first:
        first, last = place[1], place[2]
    n = float(last - first)
    level = (total[last] - total[first]) / n
    two = four = 0.0
    for i in range(first, last):
        square = (values[i] - level) ** 2
        two += square
        four += square * square
    return significant_excess(two, four, n)


@compiled
def significant_excess(two: float, four: float, n: float) -> float:
    """Return the excess kurtosis of n deviations as far as it is significant, else 0.

    two, four: sums of their second and fourth powers.
    """
    if two <= 0.0:
        return 0.0
    return max(n * four / (two * two) - 3.0 - TAIL_MARGIN / math.sqrt(n), 0.0)


@compiled
def mean_factor(phi: float, k: float) -> float:
    """Return how much autocorrelation inflates the variance of a mean of k values."""
    if phi == 0.0:
        return 1.0
    return (1.0 + phi) / (1.0 - phi) - 2.0 * phi * (1.0 - math.pow(phi, k)) / (k * (1.0 - phi) ** 2)


@compiled
def split_factor(phi: float, near: float, k: float, m: float) -> float:
    """Return how much autocorrelation inflates the variance of a difference of two means.

    phi: 0 if no autocorrelation counts. near: addition to it where a side is short. k, m: values of
    the two sides.
    """
    if phi > 0.0 and min(k, m) < NEAR_SIDE:
        phi = min(phi + near, MAX_PHI)
    return (mean_factor(phi, k) / k + mean_factor(phi, m) / m) / (1.0 / k + 1.0 / m)


@compiled
def moderated(rest: float, degrees: float, sizes: Sizes) -> tuple[float, float]:
    """Combine the squared error around the levels with the noise that the replicates show.

    rest: squared error, with ``degrees`` degrees of freedom. Returns both, including the
    replicates.
    """
    weight = sizes.doubted if rest > sizes.prior * degrees else sizes.sure
    rest = max(rest + weight * sizes.prior, (degrees + weight) * sizes.smallest)
    return rest, degrees + weight


@compiled
def evidence(gain: float, rest: float, degrees: float, factor: float) -> float:
    """Convert the gain of a split to a squared normal deviation, through Student's t.

    rest: remaining squared error, with ``degrees`` degrees of freedom. factor: of the variance of a
    difference of means, for autocorrelation. n log(1 + t^2/n) is nearly exact for large n and
    conservative for small n.
    """
    return (degrees - 0.5) * math.log1p(gain / (factor * rest))
