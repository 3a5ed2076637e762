"""Student's t-test as Hunter uses it, of two neighbouring stretches of a series."""

from __future__ import annotations

import math

import numpy as np

from changepoint.jit import compiled
from changepoint.series import Floats

LEAF = 128
"""Values that numpy sums in one go, in eight strands; more are halved first."""


@compiled
def strands(values: Floats) -> float:
    """The sum of at most ``LEAF`` values, added in numpy's order."""
    count = len(values)
    if count < 8:
        few = 0.0
        for value in values:
            few += value
        return few
    a, b, c, d = float(values[0]), float(values[1]), float(values[2]), float(values[3])
    e, f, g, h = float(values[4]), float(values[5]), float(values[6]), float(values[7])
    whole = count - count % 8
    for i in range(8, whole, 8):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        e += values[i + 4]
        f += values[i + 5]
        g += values[i + 6]
        h += values[i + 7]
    result = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(whole, count):
        result += values[i]
    return result


@compiled
def total(values: Floats) -> float:
    """The sum of contiguous values, bit for bit that of ``numpy.sum``.

    numpy halves long arrays at a multiple of eight and adds the halves. Here with a stack of our
    own: a part is summed, or put back as its halves, and equal depths are added on the way up.
    """
    if len(values) <= LEAF:
        return strands(values)
    starts = np.empty(64, dtype=np.int64)
    counts = np.empty(64, dtype=np.int64)
    # Where a part stands: 0 is untouched, 1 waits for its left half, 2 for its right half.
    stages = np.zeros(64, dtype=np.int64)
    lefts = np.empty(64)
    depth = 0
    starts[0] = 0
    counts[0] = len(values)
    result = 0.0
    while depth >= 0:
        half = counts[depth] // 2
        half -= half % 8
        if stages[depth] == 0:
            if counts[depth] <= LEAF:
                result = strands(values[starts[depth] : starts[depth] + counts[depth]])
                depth -= 1
                continue
            stages[depth] = 1
            starts[depth + 1] = starts[depth]
            counts[depth + 1] = half
            stages[depth + 1] = 0
            depth += 1
        elif stages[depth] == 1:
            lefts[depth] = result
            stages[depth] = 2
            starts[depth + 1] = starts[depth] + half
            counts[depth + 1] = counts[depth] - half
            stages[depth + 1] = 0
            depth += 1
        else:
            result = lefts[depth] + result
            depth -= 1
    return result


@compiled
def deviation(values: Floats, mean: float, degrees_lost: int) -> float:
    """The standard deviation around ``mean``, dividing by the count less ``degrees_lost``."""
    count = len(values)
    if count < 2:
        return 0.0
    squares = np.empty(count)
    for i in range(count):
        difference = values[i] - mean
        squares[i] = difference * difference
    return math.sqrt(total(squares) / (count - degrees_lost))


@compiled
def statistic(
    left: Floats, right: Floats, degrees_lost: int, resolution: float
) -> tuple[float, float, float]:
    """|t| of two samples with a pooled variance, and their means: (|t|, mean, mean).

    The pooled variance weighs the samples by n - 1, whatever their own was divided by. |t| is
    infinite if neither sample varies, nan if besides their means are equal, and 0 if the means
    are less than ``resolution`` apart.
    """
    n, m = len(left), len(right)
    first, second = total(left) / n, total(right) / m
    before = deviation(left, first, degrees_lost)
    after = deviation(right, second, degrees_lost)
    difference = first - second
    if abs(difference) < resolution or n + m < 3:
        return 0.0, first, second
    pooled = ((n - 1) * (before * before) + (m - 1) * (after * after)) / (n + m - 2.0)
    error = math.sqrt(pooled * (1.0 / n + 1.0 / m))
    if error == 0.0:
        return (np.nan if difference == 0.0 else np.inf), first, second
    return abs(difference / error), first, second
