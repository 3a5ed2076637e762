"""The first pass of Hunter: candidates of a change from windows that slide over the series.

Every sum here is taken in the order in which numpy takes it in Otava 0.8.0, because series of few
distinct values have ties, and the last bit of a sum then decides which split is the largest.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import stdtr

from changepoint.hunter_ttest import statistic
from changepoint.jit import compiled
from changepoint.series import Floats, Ints


@lru_cache(maxsize=8)
def weights(window: int) -> tuple[Floats, Floats, Floats]:
    """What pairs across, inside the left and inside the right side of a split count for in Q.

    Row r, column c belong to the split of n = r + 1 values against m = c - r + 1. The weights are
    2 / (n + m), (window,) by column, and 2 m / ((n + m) (n - 1)) and 2 n / ((n + m) (m - 1)), each
    (window, window), 0 where a side has no pair.
    """
    left = np.arange(1, window + 1)[:, None]
    both = np.arange(2, window + 2)[None, :]
    right = both - left
    numerators = 2 * right, 2 * left
    divisors = both * (left - 1), both * (right - 1)
    inside, outside = (
        np.divide(a, b, out=np.zeros((window, window)), where=(right >= 1) & (b > 0))
        for a, b in zip(numerators, divisors, strict=True)
    )
    return 2.0 / both[0], inside, outside


@lru_cache(maxsize=64)
def critical(limit: float, window: int) -> Floats:
    """The smallest |t| that is significant, (window + 1,), by the number of values tested.

    The p-value falls as |t| grows, so comparing |t| is comparing p-values, and the kernel needs
    no distribution. Bisection over the bits of a double, which are in the order of the doubles.
    Infinite for two values and fewer, whose p-value is taken to be 1.
    """
    degrees = np.arange(1.0, window - 1.0)
    low = np.zeros(len(degrees), dtype=np.int64)
    high = np.full(len(degrees), np.inf).view(np.int64)
    while np.any(high - low > 1):
        middle = low + (high - low) // 2
        significant = 2.0 * stdtr(degrees, -middle.view(np.float64)) <= limit
        high = np.where(significant, middle, high)
        low = np.where(significant, low, middle)
    return np.concatenate((np.full(window + 1 - len(degrees), np.inf), high.view(np.float64)))


@compiled
def add_distances(part: Floats, rows: Floats, columns: Floats, distances: Floats) -> None:
    """Fill in the distances of the values of a window and their sums, as best_split has them."""
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
    """The largest Q in values [start, stop) of a window, and the first value of its right side.

    rows: [i, j] is the sum of |x_i - x_k| over k in i + 1 .. j + 1. columns: [j] is the sum of
    |x_k - x_j+1| over k up to j. distances: |x_i - x_j|. All are of the whole window: cutting the
    interval out of them costs less than summing anew, and rounds as Otava does. Of equal Q, that
    with the smaller left side and then the smaller right side. scratch: (window, window).
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
    """The first values after possible changes, in order.

    values: (n,) finite. Each window of ``window`` values is split at its largest Q, and so are
    the parts, until the t-test of the best split left is below ``critical_t`` (by the number of
    values). The next window starts half a window on, or at the last candidate if that is later.
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
