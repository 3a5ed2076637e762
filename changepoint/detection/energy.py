"""The energy statistic Q of a split of a series, its maximum, and its permutation test.

Matteson and James, arXiv 1306.4933. For two samples x (n values) and y (m values)

    Q = n m / (n + m) * (2 mean|x - y| - mean|x - x'| - mean|y - y'|)

with the means over all pairs, including a value with itself (the V-statistic, as in Rizzo and
Szekely, Annals of Applied Statistics 4, 2010). The paper omits those pairs. With them Q is never
negative, and its expectation without a change does not depend on the place of the split, which
matters when one side has only two or three values. The exponent of the distance is 1: larger ones
weight a spike more, smaller ones lose power against a plain shift of level.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from changepoint.jit import compiled
from changepoint.seed import shuffle
from changepoint.series import TIE, Floats, Ints

MIN_VALUES = 2
"""Minimum values of a side of a split: a single value may be a spike."""


@compiled
def maximum(values: Floats, offsets: Ints) -> tuple[float, int, int]:
    """Return the largest energy statistic over all splits of a series, and where that split is.

    Returns (Q, tau, kappa).

    values: (n,), offsets: (positions + 1,). The sides are the positions [0, tau) and [tau, kappa):
    because the right end is free, a temporary change of level is found, too. (0, 0, 0) if no split
    leaves enough values on both sides.
    """
    count = len(offsets) - 1
    # sums[a, b]: sum of |x - y|, x in the first a positions and y in the first b.
    sums = np.zeros((count + 1, count + 1))
    for a in range(count):
        for b in range(a + 1):
            total = 0.0
            for i in range(offsets[a], offsets[a + 1]):
                for j in range(offsets[b], offsets[b + 1]):
                    total += abs(values[i] - values[j])
            sums[a + 1, b + 1] = total
            sums[b + 1, a + 1] = total
    for a in range(1, count + 1):
        row = 0.0
        for b in range(1, count + 1):
            row += sums[a, b]
            sums[a, b] = sums[a - 1, b] + row
    best = 0.0
    best_tau = 0
    best_kappa = 0
    for kappa in range(count, 1, -1):
        for tau in range(1, kappa):
            n = offsets[tau]
            m = offsets[kappa] - n
            if n < MIN_VALUES or m < MIN_VALUES:
                continue
            left = sums[tau, tau]
            cross = sums[tau, kappa] - left
            right = sums[kappa, kappa] - left - 2.0 * cross
            q = n * m / (n + m) * (2.0 * cross / (n * m) - left / (n * n) - right / (m * m))
            if q > best:
                best = q
                best_tau = tau
                best_kappa = kappa
    return best, best_tau, best_kappa


def arrangements(offsets: Ints) -> float:
    """Return in how many ways the values can be distributed over the positions.

    Offsets are (positions + 1,).
    """
    sizes = np.diff(offsets)
    return float(np.exp(gammaln(offsets[-1] + 1.0) - np.sum(gammaln(sizes + 1.0))))


@compiled
def exact_pvalue(values: Floats, offsets: Ints, observed: float) -> float:
    """Return the share of all arrangements with a statistic at least as large as ``observed``.

    values: (n,), offsets: (positions + 1,), observed: the maximum Q of ``values``. This is the
    exact p-value of the permutation test.
    """
    n = len(values)
    # The position of each value; its orders are the arrangements, in lexicographic order (Knuth,
    # The Art of Computer Programming 4A, algorithm 7.2.1.2 L).
    places = np.empty(n, np.int64)
    for p in range(len(offsets) - 1):
        places[offsets[p] : offsets[p + 1]] = p
    arranged = np.empty(n)
    free = np.empty(len(offsets), np.int64)
    total = exceeding = 0
    while True:
        free[:] = offsets
        for k in range(n):
            arranged[free[places[k]]] = values[k]
            free[places[k]] += 1
        total += 1
        exceeding += maximum(arranged, offsets)[0] >= observed * TIE
        i = n - 2
        while i >= 0 and places[i] >= places[i + 1]:
            i -= 1
        if i < 0:
            return exceeding / total
        j = n - 1
        while places[j] <= places[i]:
            j -= 1
        places[i], places[j] = places[j], places[i]
        places[i + 1 :] = places[i + 1 :][::-1].copy()


@compiled
def permutation_pvalue(
    values: Floats, offsets: Ints, observed: float, permutations: int, limit: float, seed: int
) -> float:
    """Return the p-value of an observed statistic from random shuffles of the values.

    The p-value is (k + 1) / (n + 1), if k of n shuffled series have a statistic at least as large
    as ``observed``. The function stops and returns 1 as soon as the p-value surely exceeds
    ``limit``, because an insignificant split needs no exact p-value.
    """
    shuffled = values.copy()
    state = np.uint64(seed)
    exceeding = 0
    for _ in range(permutations):
        state = shuffle(shuffled, state)
        if maximum(shuffled, offsets)[0] >= observed * TIE:
            exceeding += 1
            if exceeding + 1 > limit * (permutations + 1):
                return 1.0
    return (exceeding + 1) / (permutations + 1)
