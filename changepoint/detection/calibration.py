"""Convert between the strength of a change and its false-alarm rate or p-value.

The strength of the best split of an unchanged series was simulated (``python -m
changepoint.evaluate calibrate``). Its tail has the theoretical form of the maximum of a
standardised sum over all splits (Siegmund, Annals of Statistics 16, 1988): with h the squared
deviation,

    new alarms a night = NIGHTLY(n) * h * exp(-h / 2)
    P(maximum >= h)    = SINGLE(n) * h * exp(-h / 2)

so one factor per length is the whole table.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import lambertw

LENGTHS = (12.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0)
"""Numbers of positions with known factors; the logarithm of n interpolates in between."""

NIGHTLY = (0.028, 0.037, 0.040, 0.044, 0.0475, 0.050, 0.051)
"""Factor of the rate of new alarms per night in an unchanged series: the rate divided by ``h
exp(-h/2)``, for each of ``LENGTHS``. Longer series use the last value, because only the end of a
series changes on a night."""

SINGLE = (0.057, 0.11, 0.19, 0.29, 0.46, 0.60, 0.81)
"""Factor of the probability that the first look at an unchanged series raises an alarm: the
probability divided by ``h exp(-h/2)``, for each of ``LENGTHS``."""

CAUTION = 1.3
"""Factor by which the planned alarms stay below the budget: values with heavier tails than normal
alarm more often by about this factor."""

SMALLEST_PVALUE = 1e-300
"""Lower bound of reported p-values: 0 would claim certainty."""


def limit(positions: int, alarms_per_1000: float) -> float:
    """Return the strength at which an unchanged series raises this many alarms per 1000 nights."""
    return _limit(min(max(positions, 1), int(LENGTHS[-1])), alarms_per_1000)


# Cached: a growing series repeats the same arguments, at half the cost of its search.
@lru_cache(maxsize=1024)
def _limit(positions: int, alarms_per_1000: float) -> float:
    factor = float(np.interp(math.log(positions), np.log(LENGTHS), NIGHTLY))
    rate = alarms_per_1000 / 1000.0 / CAUTION / factor
    # h exp(-h/2) = rate, on the falling branch; its maximum is 2/e at h = 2.
    return -2.0 * float(lambertw(-min(rate, 1.999 / math.e) / 2.0, -1).real)


def pvalue(positions: int, strength: float) -> float:
    """Return the probability that an unchanged series shows a split at least as strong as this."""
    if strength <= 2.0:
        return 1.0
    chance = _single(max(positions, 1)) * strength * math.exp(-strength / 2.0)
    return min(max(chance, SMALLEST_PVALUE), 1.0)


@lru_cache(maxsize=1024)
def _single(positions: int) -> float:
    factor = float(np.interp(math.log(positions), np.log(LENGTHS), SINGLE))
    # It grows with the logarithm of the length.
    return factor + (SINGLE[-1] - SINGLE[-2]) * max(math.log2(positions / LENGTHS[-1]), 0.0)
