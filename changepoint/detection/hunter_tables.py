"""Constant tables for the windows of Hunter's search: weights of splits, critical t values."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import stdtr

from changepoint.series import Floats


@lru_cache(maxsize=8)
def weights(window: int) -> tuple[Floats, Floats, Floats]:
    """Return the weights in the statistic Q of pairs of values, across a split and on each side.

    The first result, (window,), has the weights 2 / (n + m) of pairs across the split, by column.
    The others, (window, window), have the weights of pairs on either side, 2 m / ((n + m) (n - 1))
    and 2 n / ((n + m) (m - 1)), or 0 if a side has no pair. Row r and column c are for n = r + 1
    values on the left and m = c - r + 1 values on the right.
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
    """Return the smallest significant t statistic for each number of tested values.

    Returns (window + 1,).

    The p-value falls as |t| grows, so comparing |t| compares p-values, and the kernel needs no
    distribution. Bisection runs over the bit patterns of doubles, which as integers have the order
    of the doubles. The result is infinite for at most two values, whose p-value counts as 1.
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
