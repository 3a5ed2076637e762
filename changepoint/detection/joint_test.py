"""The joint test: whether many series change at the same place, by shuffling their rows together.

A row holds the values measured at the same time, one of each series. Rows are shuffled whole, so
any dependence of the series within a row (a busy machine slows all of them) is in the shuffled data
as well, and the test is exact for any such dependence (Pesarin, Multivariate Permutation Tests,
2001). Values are replaced by the normal scores of their ranks in their own series (van der Waerden
1952), which have full power for normal noise and limit a spike to the weight of a largest value.

Two statistics look at each split. With z the standardised difference of the mean scores of a
series, left and right of the split,

    together  |sum of z|      all series move alike
    apart     sum of z * z    some move, or in different directions

Each is maximised over the splits. The smaller of their ranks among the shuffled maxima is then
itself ranked among those of the shuffles (Westfall and Young 1993), which corrects for using two.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from changepoint.detection.energy import MIN_VALUES
from changepoint.jit import compiled
from changepoint.seed import own_seed, shuffle
from changepoint.series import TIE, Floats, Ints

FIRST_LOOK = 199
"""Shuffles after which a search ends if its p-value exceeds ``HOPELESS``."""

HOPELESS = 0.2
"""P-value after the first look above which a search ends as insignificant. A series with a true p
of .005 exceeds it, after 199 shuffles, with a probability below 1e-30."""


def scores(values: Floats) -> Floats:
    """Replace the values of each series by normal scores of their ranks; missing values stay nan.

    Values and scores are (rows, series).

    The scores of every series have mean 0 and variance 1; all are 0 if its values do not differ.
    """
    result = np.full(values.shape, np.nan)
    for column in range(values.shape[1]):
        measured = np.flatnonzero(~np.isnan(values[:, column]))
        if not len(measured):
            continue
        last, ties = _ranks(values[measured, column])
        ranks = last - (ties - 1.0) / 2.0
        score = ndtri(ranks / (len(measured) + 1.0))
        score -= np.mean(score)
        deviation = float(np.std(score))
        result[measured, column] = score / deviation if deviation > 1e-9 else 0.0
    return result


@compiled
def maxima(
    score: Floats, order: Ints, offsets: Ints, sums: Floats, counts: Floats
) -> tuple[float, int, float, int]:
    """Return the largest value of both joint statistics, and the split where each occurs.

    Returns (together, tau, apart, tau).

    score: (rows, series), its rows taken in ``order``; offsets: (positions + 1,), splits fall
    between positions; sums, counts: (2, series), scratch space.
    """
    rows, series = score.shape
    sums[:] = 0.0
    counts[:] = 0.0
    for i in range(rows):
        for s in range(series):
            if not np.isnan(score[i, s]):
                sums[1, s] += score[i, s]
                counts[1, s] += 1.0
    together, together_at, apart, apart_at = 0.0, 0, 0.0, 0
    for tau in range(1, len(offsets) - 1):
        for row in range(offsets[tau - 1], offsets[tau]):
            for s in range(series):
                value = score[order[row], s]
                if not np.isnan(value):
                    sums[0, s] += value
                    counts[0, s] += 1.0
        if offsets[tau] < MIN_VALUES or rows - offsets[tau] < MIN_VALUES:
            continue
        total = 0.0
        square = 0.0
        for s in range(series):
            n = counts[0, s]
            m = counts[1, s] - n
            if n > 0.0 and m > 0.0:
                gap = (sums[1, s] - sums[0, s]) / m - sums[0, s] / n
                z = gap * np.sqrt(n * m / (n + m))
                total += z
                square += z * z
        if abs(total) > together:
            together, together_at = abs(total), tau
        if square > apart:
            apart, apart_at = square, tau
    return together, together_at, apart, apart_at


@compiled
def complete_maxima(
    score: Floats, order: Ints, offsets: Ints, left: Floats
) -> tuple[float, int, float, int]:
    """Return what :func:`maxima` returns, ten times as fast, if no value is missing.

    The scores of a series sum to zero, so with the sum S of the first n of N the difference of the
    means is -S N / (n (N - n)) and z is -S sqrt(N / (n (N - n))).

    left: (series padded to a multiple of four,), scratch space.
    """
    rows, series = score.shape
    left[:] = 0.0
    together, together_at, apart, apart_at = 0.0, 0, 0.0, 0
    for tau in range(1, len(offsets) - 1):
        for row in range(offsets[tau - 1], offsets[tau]):
            values = score[order[row]]
            for s in range(series):
                left[s] += values[s]
        n = offsets[tau]
        if n < MIN_VALUES or rows - n < MIN_VALUES:
            continue
        # Four sums each, so that an addition does not wait for the one before.
        total_0, total_1, total_2, total_3 = 0.0, 0.0, 0.0, 0.0
        square_0, square_1, square_2, square_3 = 0.0, 0.0, 0.0, 0.0
        for s in range(0, len(left), 4):
            total_0 += left[s]
            total_1 += left[s + 1]
            total_2 += left[s + 2]
            total_3 += left[s + 3]
            square_0 += left[s] * left[s]
            square_1 += left[s + 1] * left[s + 1]
            square_2 += left[s + 2] * left[s + 2]
            square_3 += left[s + 3] * left[s + 3]
        factor = rows / (n * (rows - n))
        total = abs(total_0 + total_1 + total_2 + total_3) * np.sqrt(factor)
        square = (square_0 + square_1 + square_2 + square_3) * factor
        if total > together:
            together, together_at = total, tau
        if square > apart:
            apart, apart_at = square, tau
    return together, together_at, apart, apart_at


@compiled
def shuffled_maxima(score: Floats, offsets: Ints, shuffles: int, seed: int) -> Floats:
    """Return the largest joint statistics of each of many random shuffles of the series.

    Returns (shuffles, 2). With the same seed, the result of more shuffles begins with that of
    fewer.
    """
    result = np.zeros((shuffles, 2))
    rows, series = score.shape
    sums = np.zeros((2, series))
    counts = np.zeros((2, series))
    left = np.zeros((series + 3) // 4 * 4)
    complete = not np.isnan(score).any()
    order = np.arange(rows)
    state = np.uint64(seed)
    for k in range(shuffles):
        state = shuffle(order, state)
        if complete:
            best = complete_maxima(score, order, offsets, left)
        else:
            best = maxima(score, order, offsets, sums, counts)
        result[k, 0] = best[0]
        result[k, 1] = best[2]
    return result


def split(score: Floats, offsets: Ints, shuffles: int, seed: int) -> tuple[float, int, bool]:
    """Find the best common split of many series, and test it by shuffling their rows.

    Returns the p-value, the position tau of the split, and whether the series move together.
    """
    series = score.shape[1]
    room = np.zeros((2, series)), np.zeros((2, series))
    together, together_at, apart, apart_at = maxima(
        score, np.arange(len(score)), offsets, room[0], room[1]
    )
    if apart_at == 0 or apart <= 0.0:
        return 1.0, 0, False
    observed = np.array([together, apart])
    seed = own_seed(seed, score)
    first, _ = _smallest_rank(observed, shuffled_maxima(score, offsets, FIRST_LOOK, seed))
    if first > HOPELESS:
        return first, apart_at, False
    pvalue, alike = _smallest_rank(observed, shuffled_maxima(score, offsets, shuffles, seed))
    return pvalue, together_at if alike else apart_at, alike


def _smallest_rank(observed: Floats, shuffled: Floats) -> tuple[float, bool]:
    """Return the p-value of the more significant of two statistics, and which one that is."""
    everything = np.vstack((observed * TIE, shuffled))
    # Ranks from the top, ties to the disadvantage of each: the number of values at least as large.
    ranks = np.stack([_ranks(-column)[0] for column in everything.T], axis=1)
    smallest = np.min(ranks, axis=1)
    return float(np.mean(smallest <= smallest[0])), bool(ranks[0, 0] <= ranks[0, 1])


def _ranks(values: Floats) -> tuple[Floats, Floats]:
    """Return for each value how many values are at most as large, and how many are equal."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.cumsum(counts)[inverse].astype(np.float64), counts[inverse].astype(np.float64)
