"""The exact confidence interval of the difference between two samples, from ranks.

If y is distributed as x + shift, the number U of pairs with y - x below the shift has the null
distribution of Mann and Whitney (Annals of Mathematical Statistics 18, 1947) for noise of any
shape. Removing as many of the sorted differences at either end as a quantile of U therefore leaves
an interval that contains the shift (Moses 1953; Hollander and Wolfe, Nonparametric Statistical
Methods, 4.3). The median of the differences estimates the shift (Hodges and Lehmann, Annals of
Mathematical Statistics 34, 1963).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from changepoint.series import Floats

EXACT_PAIRS = 2500
"""Number of pairs, 50 x 50, up to which the exact null distribution is used; beyond, the normal
approximation is right to four digits in the relevant tail."""


def cut(n: int, m: int, confidence: float) -> int:
    """Return how many of the sorted differences to leave out at either end of the interval.

    -1 if even the whole range of the differences does not reach the ``confidence``.
    """
    tail = (1.0 - confidence) / 2.0
    if n * m > EXACT_PAIRS:
        deviation = math.sqrt(n * m * (n + m + 1) / 12.0)
        # P(U <= cut) with the correction for continuity.
        return max(math.floor(n * m / 2.0 + float(ndtri(tail)) * deviation - 0.5), -1)
    below = np.cumsum(_null(min(n, m), max(n, m)))
    # A rounding error in the last digit of the sum must not cost an attainable confidence.
    return int(np.searchsorted(below, tail * (1.0 + 1e-9), side="right")) - 1


@lru_cache(maxsize=256)
def _null(n: int, m: int) -> Floats:
    """Return the distribution of the rank statistic U for samples that do not differ.

    It is the Gaussian binomial coefficient, the product over i of (1 - q^(m+i)) / (1 - q^i),
    computed factor by factor. A coefficient depends only on those before it, so the small ones of
    the tail are exact integers.
    """
    weights = np.zeros(n * m + 1)
    weights[0] = 1.0
    for i in range(1, n + 1):
        for u in range(n * m, m + i - 1, -1):
            weights[u] -= weights[u - m - i]
        for u in range(i, n * m + 1):
            weights[u] += weights[u - i]
    weights = np.maximum(weights, 0.0)
    weights.setflags(write=False)
    return weights / float(np.sum(weights))


def shift(base: Floats, head: Floats, confidence: float) -> tuple[float, float, float] | None:
    """Return the estimated difference from base to head, with its interval.

    Base is (n,), head is (m,); returns (shift, low, high).

    None if the samples are too small for an interval with this confidence.
    """
    drop = cut(len(base), len(head), confidence)
    if drop < 0:
        return None
    differences = np.sort(np.subtract.outer(head, base).ravel())
    # U <= drop is a miss: the interval starts after these differences.
    return (
        float(np.median(differences)),
        float(differences[drop]),
        float(differences[len(differences) - 1 - drop]),
    )
