"""The compiled parts of Hunter: the t-test, the window search, and the choice of points to drop.

Every sum is taken in the order that numpy uses in Otava 0.8.0: in a series of few distinct values
splits tie, and rounding decides which is the largest.
"""

from __future__ import annotations

import math

import numpy as np

from changepoint.jit import compiled
from changepoint.series import Floats, Ints

LEAF = 128
"""Values that numpy sums at once with eight accumulators; longer arrays are halved first."""


@compiled
def leaf_sum(values: Floats) -> float:
    """Add a few values in the same order as numpy, so that the sum is equal to the last bit."""
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
    """Return the sum of contiguous values, equal to that of ``numpy.sum`` to the last bit.

    numpy halves long arrays at a multiple of eight and adds the halves. This implementation does
    the same with a stack instead of recursion.
    """
    if len(values) <= LEAF:
        return leaf_sum(values)
    starts = np.empty(64, dtype=np.int64)
    counts = np.empty(64, dtype=np.int64)
    # The state of a part: 0 is unprocessed, 1 waits for its left half, 2 for its right half.
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
                result = leaf_sum(values[starts[depth] : starts[depth] + counts[depth]])
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
    """Return the standard deviation of values around ``mean`` with the given degrees of freedom."""
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
    """Return the absolute t statistic of two samples with a common variance, and both means.

    Returns (t, mean of left, mean of right).

    The pooled variance weights the samples by n - 1, whatever divisor their own variances have. |t|
    is infinite if neither sample varies, nan if their means are equal too, and 0 if the means are
    less than ``resolution`` apart.
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


@compiled
def add_distances(part: Floats, rows: Floats, columns: Floats, distances: Floats) -> None:
    """Compute the distances between the values of a window, as ``best_split`` needs them."""
    size = len(part)
    columns[: size - 1] = 0.0
    for i in range(size):
        sum_of_row = 0.0
        for j in range(i + 1, size):
            distance = abs(part[i] - part[j])
            distances[i, j] = distance
            columns[j - 1] += distance
            sum_of_row += distance
            rows[i, j - 1] = sum_of_row


@compiled
def best_split(
    rows: Floats, columns: Floats, distances: Floats, bounds: tuple[int, int], crossing: Floats,
    inside: Floats, outside: Floats, scratch: Floats,
) -> tuple[float, int]:  # fmt: skip
    """Return the split of a window with the largest energy statistic Q, and that statistic.

    rows: [i, j] is the sum of |x_i - x_k| over k in i + 1 .. j + 1. columns: [j] is the sum of |x_k
    - x_j+1| over k up to j. distances: |x_i - x_j|. All are of the whole window: subtracting what
    is outside an interval costs less than summing again, and rounds as in Otava. Of equal Q, the
    split with the smaller left side and then the smaller right side is returned. scratch: (window,
    window).
    """
    start, stop = bounds
    size = stop - start - 1
    after = scratch[:size, :size]
    after[size - 1] = 0.0
    for r in range(size - 2, -1, -1):
        row = rows[start + r + 1, start : stop - 1]
        below = after[r + 1]
        own = after[r]
        own[r] = 0.0
        for c in range(r + 1, size):
            own[c] = below[c] + row[c]
    cut = np.zeros(size)
    for k in range(start):
        ahead = distances[k, start + 1 : stop]
        for c in range(size):
            cut[c] += ahead[c]
    upto = np.zeros(size)
    left_pairs = 0.0
    best = -np.inf
    best_row = 0
    for r in range(size):
        row = rows[start + r, start : stop - 1]
        near = inside[r]
        far = outside[r]
        own = after[r]
        for c in range(r, size):
            upto[c] += row[c]
            cross = crossing[c] * (upto[c] - left_pairs)
            q = cross - near[c] * left_pairs - far[c] * own[c]
            if q > best:
                best = q
                best_row = r
        left_pairs += columns[start + r] - cut[r]
    return best, start + best_row + 1


@compiled
def candidates(
    values: Floats, window: int, critical_t: Floats, crossing: Floats, inside: Floats,
    outside: Floats, degrees_lost: int, resolution: float,
) -> Ints:  # fmt: skip
    """Return the places of possible changes that Hunter's first pass finds, in order.

    values: (n,) finite. Each window of ``window`` values is split at its largest Q, and so are the
    parts, until |t| of the best remaining split is below ``critical_t``, which has a limit for each
    number of values. The next window starts half a window later, or at the last candidate if that
    is later.
    """
    total = len(values)
    marked = np.zeros(total + 1, dtype=np.bool_)
    distances = np.empty((window, window))
    rows = np.zeros((window, window))
    columns = np.zeros(window)
    scratch = np.empty((window, window))
    edges = np.empty(window + 1, dtype=np.int64)
    largest = np.empty(window + 1)
    places = np.empty(window + 1, dtype=np.int64)
    start = 0
    while start < total:
        size = min(window, total - start)
        part = values[start : start + size]
        add_distances(part, rows, columns, distances)
        parts = 1
        edges[0] = 0
        edges[1] = size
        places[0] = -1
        while True:
            chosen = -1
            for k in range(parts):
                if edges[k + 1] - edges[k] < 2:
                    continue
                if places[k] < 0:
                    largest[k], places[k] = best_split(
                        rows,
                        columns,
                        distances,
                        (edges[k], edges[k + 1]),
                        crossing,
                        inside,
                        outside,
                        scratch,
                    )
                if chosen < 0 or largest[k] > largest[chosen]:
                    chosen = k
            if chosen < 0:
                break
            place = places[chosen]
            t = statistic(
                part[edges[chosen] : place],
                part[place : edges[chosen + 1]],
                degrees_lost,
                resolution,
            )[0]
            if not t >= critical_t[edges[chosen + 1] - edges[chosen]]:
                break
            for k in range(parts, chosen, -1):
                edges[k + 1] = edges[k]
                largest[k] = largest[k - 1]
                places[k] = places[k - 1]
            edges[chosen + 1] = place
            places[chosen] = -1
            places[chosen + 1] = -1
            parts += 1
        for k in range(1, parts):
            marked[start + edges[k]] = True
        last = start + edges[parts - 1] if parts > 1 else 0
        start = max(last, start + window // 2)
    return np.flatnonzero(marked)


@compiled
def magnitude(before: float, after: float) -> float:
    """Return the relative change between two levels, as a fraction of the one nearer to zero."""
    forward = after / before - 1.0 if before != 0.0 else 0.0
    backward = before / after - 1.0 if after != 0.0 else 0.0
    return max(abs(forward), abs(backward))


@compiled
def compare(
    values: Floats, points: Ints, which: Ints, degrees_lost: int, resolution: float
) -> tuple[Floats, Ints, Floats]:
    """Test some candidate changes against their neighbours with Student's t-test.

    Returns t, the number of values tested and the magnitude, each (k,).

    points: (m,) indices of the first values after changes, in order. which: (k,) indices into
    ``points`` of the changes to test.
    """
    t = np.empty(len(which))
    counts = np.empty(len(which), dtype=np.int64)
    sizes = np.empty(len(which))
    for k, i in enumerate(which):
        start = points[i - 1] if i > 0 else 0
        stop = points[i + 1] if i + 1 < len(points) else len(values)
        left, right = values[start : points[i]], values[points[i] : stop]
        t[k], before, after = statistic(left, right, degrees_lost, resolution)
        counts[k] = stop - start
        sizes[k] = magnitude(before, after)
    return t, counts, sizes


@compiled
def weakest(pvalues: Floats, sizes: Floats, max_pvalue: float, min_magnitude: float) -> int:
    """Return the candidate change to drop next, or -1 if all are significant.

    It is the point with the largest p-value if that is at or above the limit, otherwise the
    smallest change if it is not above ``min_magnitude``; of equal ones, the first. Comparisons with
    nan are false, so a p-value of nan is chosen only if it is the first one. Otava does the same,
    so its result may contain a point with such a p-value.
    """
    largest = 0
    smallest = 0
    for i in range(1, len(pvalues)):
        if pvalues[i] > pvalues[largest]:
            largest = i
        if sizes[i] < sizes[smallest]:
            smallest = i
    if not pvalues[largest] < max_pvalue:
        return largest
    return -1 if sizes[smallest] > min_magnitude else smallest
