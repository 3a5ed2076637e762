"""Precomputed sums of blocks of values, which let a search skip most values of a long series.

A stretch of a few thousand values is a few dozen blocks and two ragged ends. Its sums of squares
are those of its blocks. Its best split is searched only in blocks that can contain it: the gain of
a split is a convex function of its place and running sum, so inside a block it is at most its value
at a corner of a parallelogram around the running sum there.
"""

from __future__ import annotations

import numpy as np

from changepoint.detection.scan import Sums, squared_differences, squared_error
from changepoint.jit import compiled
from changepoint.series import TIE, Floats

BLOCK = 64
"""Values per block. Smaller blocks are more numerous; larger ones have wider bounds."""

LOW, HIGH, MEAN, REST, ONE, TWO, COLUMNS = range(7)
"""Columns of a block: the reach of the running sum below and above the line between its ends, the
mean, the squared error around it, and the squared differences at lag one and two."""


@compiled
def new_blocks(size: int) -> Floats:
    """Allocate the table of block sums for a series of up to ``size`` values.

    Returns (blocks, COLUMNS).
    """
    return np.empty((size // BLOCK, COLUMNS))


@compiled
def set_blocks(y: Floats, sums: Sums, first: int, blocks: Floats) -> None:
    """Compute the sums of every full block that contains the value ``first`` or a later one."""
    total = sums[0]
    for j in range(first // BLOCK, len(y) // BLOCK):
        start = j * BLOCK
        stop = start + BLOCK
        slope = (total[stop] - total[start]) / BLOCK
        low = high = 0.0
        for i in range(1, BLOCK):
            away = total[start + i] - total[start] - i * slope
            low, high = min(low, away), max(high, away)
        blocks[j, LOW], blocks[j, HIGH] = low, high
        blocks[j, MEAN] = slope
        blocks[j, REST] = squared_error(y[start:stop], slope)
        blocks[j, ONE] = squared_differences(y[max(start - 1, 0) : stop], 1)
        blocks[j, TWO] = squared_differences(y[max(start - 2, 0) : stop], 2)


@compiled
def squares(
    y: Floats, sums: Sums, start: int, stop: int, blocks: Floats
) -> tuple[float, float, float]:
    """Return the squared error and the squared differences (lag 1 and 2) of part of a series."""
    mean = (sums[0][stop] - sums[0][start]) / (stop - start)
    # The first block must contain both values before its differences.
    first = (start + 2 + BLOCK - 1) // BLOCK
    last = stop // BLOCK
    if first >= last:
        part = y[start:stop]
        return (
            squared_error(part, mean),
            squared_differences(part, 1),
            squared_differences(part, 2),
        )
    head, tail = first * BLOCK, last * BLOCK
    rest = squared_error(y[start:head], mean) + squared_error(y[tail:stop], mean)
    one = squared_differences(y[start:head], 1) + squared_differences(y[tail - 1 : stop], 1)
    two = squared_differences(y[start:head], 2) + squared_differences(y[tail - 2 : stop], 2)
    for j in range(first, last):
        rest += blocks[j, REST] + BLOCK * (blocks[j, MEAN] - mean) ** 2
        one += blocks[j, ONE]
        two += blocks[j, TWO]
    return rest, one, two


@compiled
def best_split(
    total: Floats, start: int, stop: int, least: int, blocks: Floats
) -> tuple[float, int]:
    """Find the best split of a part of a series into two levels, with the help of block sums.

    Returns (gain, place), as :func:`changepoint.detection.scan.best_gain` without block sums does.
    Splits may only differ between the two where rounding decides among equal gains.
    """
    n = stop - start
    if n < 2 * least:
        return -1.0, -1
    mean = (total[stop] - total[start]) / n
    first = (start + least + BLOCK - 1) // BLOCK
    last = (stop - least) // BLOCK
    whole = (start, stop, mean)
    if first >= last:
        best, at = _scanned(total, whole, (start + least, stop - least, 1), -1.0, -1)
        return best * n, at
    best, at = _scanned(total, whole, (start + least, first * BLOCK, 1), -1.0, -1)
    best, at = _scanned(total, whole, (last * BLOCK, stop - least, 1), best, at)
    best, at = _scanned(total, whole, (first * BLOCK, last * BLOCK, BLOCK), best, at)
    for j in range(first, last):
        hopeful = False
        for tau in (j * BLOCK, (j + 1) * BLOCK):
            k = float(tau - start)
            excess = total[tau] - total[start] - k * mean
            reach = max(-(excess + blocks[j, LOW]), excess + blocks[j, HIGH])
            hopeful |= reach * reach >= TIE * best * (k * (n - k))
        if hopeful:
            inner = (j * BLOCK + 1, (j + 1) * BLOCK - 1, 1)
            best, at = _scanned(total, whole, inner, best, at)
    return best * n, at


@compiled
def _scanned(
    total: Floats,
    whole: tuple[int, int, float],
    places: tuple[int, int, int],
    best: float,
    at: int,
) -> tuple[float, int]:
    """Return the best of a known split and the splits at given places; of equals, the earliest.

    whole: start and stop of the stretch, and its mean. places: first and last place, and the step
    between them. best, at: gain and place of the known split. Gains omit the factor stop - start.
    """
    start, stop, mean = whole
    first, last, step = places
    n = stop - start
    base = total[start]
    for tau in range(first, last + 1, step):
        k = float(tau - start)
        excess = total[tau] - base - k * mean
        gain = excess * excess / (k * (n - k))
        if gain > best or (gain == best and tau < at):
            best, at = gain, tau
    return best, at
