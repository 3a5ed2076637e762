"""The compiled parts of the default method: clipped values, best splits and their evidence.

Everything here works on one value per position.

A search of 10,000 values is passes over memory. Sums of squares go over ``LANES`` sums at once,
which the processor adds side by side and in an order that is the same wherever it is asked for.
"""

from __future__ import annotations

import math

import numpy as np

from changepoint.jit import compiled
from changepoint.series import Floats

Sums = tuple[Floats, Floats]
"""Running sums, each (n + 1,): of the values before an index, and of value times index."""

Sizes = tuple[float, float, float]
"""What a search takes for given of a series: the share of clipped values, the smallest variance
there can be, and what the excess kurtosis of a side counts against a short one (``TAIL`` or 0)."""

LANES = 4
"""Sums of squares that are added up side by side."""

HALF_WINDOW = 5
"""Neighbours on either side whose median a value is compared with before it is clipped: a spike
is one or two values, and five of eleven alike still leave the median where it was."""

CLIP = 4.0
"""Robust deviations from that median beyond which a value is moved back: a spike then weighs no
more than an unlucky value, and a large step still counts in its first nights."""

FAR = 1.0
"""Deviations that are left of a value far out: less than of one at ``CLIP``, as what is that far
out is more likely a spike, but enough that a step of any size is seen within a few nights."""

SLOPE = 1.0
"""How fast what is left falls from ``CLIP`` to ``FAR``, per deviation further out."""

LEAST = 3
"""Values a side of a split must have: one or two are a spike."""

FAR_OUT = (CLIP - FAR) / SLOPE + CLIP - FAR
"""Deviations that a value at the far end of the slope is moved by."""

FAR_WEIGHT = 0.3
"""What a value out there adds to the share of clipped ones, on which the proof depends that a
short side has to give: it is known for a spike, and dangerous are those that might not be."""

TAIL = 0.35
"""A strength with a short side is divided by 1 and this times the excess kurtosis of the other
side: three values in a row of heavy-tailed noise reach a limit that is meant for normal noise
more often, and a longer side's mean is nearly normal."""

TAIL_MARGIN = 2.0
"""Of that excess, what does not count, divided by the square root of the values it is of: .4 of the
standard error of the kurtosis of normal values."""

SMALL_SIDE = 12
"""Sides with fewer values than this have to show the change without their best value too."""

SPARE_SHARE = 0.2
"""Share of the evidence that has to be left without that value, if nothing was clipped."""

SPARE_SLOPE = 45.0
"""How much that share rises with the share of clipped values: where spikes are common, one of
three values proves nothing. At 1.8 % clipped, all of the evidence has to be left."""

RAMP_MARGIN = 5.0
"""Evidence, in squared deviations, that a step needs against a straight line."""

PHI_MARGIN = 1.35
"""Standard errors by which the autocorrelation has to be positive before it counts, less
``PHI_SHORT`` / n as its estimate is too low in short series."""

PHI_SHORT = 8.0

PHI_LONG = 0.19
"""Autocorrelation that is let pass besides: to a level that lasts it does little harm."""

PHI_NEAR = 0.5
"""What is added to an autocorrelation that counts where a side is shorter than ``NEAR_SIDE``: a
machine's mood of days is a level of days, and of the false alarms of autocorrelated series most
have such a side. Chosen together with ``PHI_LONG``: at 3 alarms in 1000 nights with a coefficient
of .5, what is taken from short sides finds one step in twenty more."""

NEAR_SIDE = 40

GRID = 0.02
"""Relative step of the grid the clipping scale is rounded to. It then stays the same on most nights
and with it every clipped value, so that a series that grows need not be clipped anew."""

MAX_PHI = 0.9
"""Largest autocorrelation corrected for: beyond it a level has no meaning."""

NORMAL_MEDIAN = 0.6744897501960817
"""Median of |z|, z standard normal."""


@compiled
def on_grid(scale: float) -> float:
    """``scale`` rounded to a grid of relative steps of ``GRID``; 0 stays 0."""
    if scale <= 0.0:
        return 0.0
    return math.exp(GRID * math.floor(math.log(scale) / GRID + 0.5))


@compiled
def rough_scale(values: Floats) -> float:
    """A robust deviation from the differences of neighbours, on the grid: for clipping only.

    Where most neighbours are equal their median is 0 and says nothing; half the mean of the
    differences then takes its place.
    """
    # A loop: for operations on two arrays numba also compiles the message about unequal shapes.
    gaps = np.empty(len(values) - 1)
    for i in range(len(gaps)):
        gaps[i] = abs(values[i + 1] - values[i])
    return scale_of_gaps(float(np.median(gaps)), gaps)


@compiled
def scale_of_gaps(median: float, gaps: Floats) -> float:
    """The same from the median of the differences; gaps: (n - 1,), in the order of the series."""
    if median == 0.0:
        return on_grid(0.5 * float(np.mean(gaps)))
    return on_grid(median / (NORMAL_MEDIAN * math.sqrt(2.0)))


@compiled
def set_clipped(values: Floats, scale: float, start: int, out: Floats) -> None:
    """Write ``values`` into out[start:], those that stick out moved back to their neighbourhood.

    A value sticks out that is more than ``CLIP`` scales from the median of its neighbourhood. Where
    most of the neighbourhood is within reach of a value, so is the median, and need not be known.
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
    """How many values were clipped, and how many of those were moved all the way."""
    moved = 0
    far = 0
    # Both are compared for every value: without a branch the loop goes over several at once.
    for i in range(len(values)):
        away = abs(y[i] - values[i])
        moved += away > 0.0
        far += away > FAR_OUT * scale
    return moved, far


@compiled
def share_of(moved: int, far: int, n: int) -> float:
    """The share of n values that counts as clipped, those moved all the way as ``FAR_WEIGHT``."""
    return (moved - far + FAR_WEIGHT * far) / n


@compiled
def clipped_share(values: Floats, y: Floats, scale: float) -> float:
    """The share of values that counts as clipped."""
    moved, far = clipped_counts(values, y, scale)
    return share_of(moved, far, len(values))


@compiled
def set_sums(values: Floats, start: int, sums: Sums) -> None:
    """Write the running sums of values from number ``start`` on; those before are there."""
    total, moment = sums
    for i in range(start, len(values)):
        total[i + 1] = total[i] + values[i]
        moment[i + 1] = moment[i] + i * values[i]


@compiled
def sums_of(values: Floats) -> Sums:
    """The running sums of all values."""
    sums = (np.zeros(len(values) + 1), np.zeros(len(values) + 1))
    set_sums(values, 0, sums)
    return sums


@compiled
def squared_error(values: Floats, level: float) -> float:
    """The sum of squared distances from a level."""
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
    """The sum of squared differences between values ``lag`` apart."""
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
    """The split of [start, stop) that explains most squared error, and how much: (gain, at).

    total: (n + 1,) running sums of the values. least: values each side must have. (-1, -1) if
    there is no room for two sides.
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
    """Squared error that a straight line through [start, stop) explains.

    moment: (n + 1,) running sums of value times index.
    """
    n = float(stop - start)
    middle = 0.5 * (start + stop - 1)
    cross = float(moment[stop] - moment[start] - middle * (total[stop] - total[start]))
    return cross * cross * 12.0 / (n * (n * n - 1.0))


@compiled
def spare_gain(values: Floats, total: Floats, start: int, tau: int, stop: int) -> float:
    """The gain of a split whose smaller side lacks the value that speaks most for it."""
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
    """The excess kurtosis of the larger side of a split that counts, 0 or more.

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
    if two <= 0.0:
        return 0.0
    return max(n * four / (two * two) - 3.0 - TAIL_MARGIN / math.sqrt(n), 0.0)


@compiled
def mean_factor(phi: float, k: float) -> float:
    """Variance of a mean of k values of an AR(1) over that of k independent ones."""
    if phi == 0.0:
        return 1.0
    return (1.0 + phi) / (1.0 - phi) - 2.0 * phi * (1.0 - math.pow(phi, k)) / (k * (1.0 - phi) ** 2)


@compiled
def split_factor(phi: float, k: float, m: float) -> float:
    """The same of the difference between means of k and of m values, wary where one is short.

    phi: as ``segment.counted_phi`` has it; 0 if no autocorrelation counts.
    """
    if phi > 0.0 and min(k, m) < NEAR_SIDE:
        phi = min(phi + PHI_NEAR, MAX_PHI)
    return (mean_factor(phi, k) / k + mean_factor(phi, m) / m) / (1.0 / k + 1.0 / m)


@compiled
def evidence(gain: float, rest: float, degrees: float, factor: float) -> float:
    """A gain as a squared normal deviation: t squared, brought from Student to normal.

    rest: squared error left, of ``degrees`` degrees of freedom. factor: of the variance of a
    difference of means, for autocorrelation. n log(1 + t^2/n) is nearly exact for large n and
    on the safe side for small.
    """
    return (degrees - 0.5) * math.log1p(gain / (factor * rest))
