"""Compute a confidence interval from the signs of differences, valid at any number of looks.

Let x_1, x_2, ... be differences, each symmetric about a common centre given those before it. For a
supposed centre theta write y_i = (x_i - theta) / s_i, with a scale s_i from the values before x_i,
clipped to [-CLIP, CLIP]. If theta is the centre, the sign of y_i is a fair coin whatever |y_i| is.
Then 1 + tanh(rate * y_i) has mean 1, and the product over i, the wealth of a bettor on higher
values, is a martingale that starts at 1. By Ville's inequality it reaches 1 / alpha at any time
with a probability of at most alpha, for any number of looks and any stopping rule (Ramdas,
Grunwald, Vovk and Shafer, Statistical Science 38, 2023). A mean of wealths at several rates is a
martingale as well. The wealth falls as theta grows, so the thetas not refuted form a half-line.
Bets on lower values give the other end, and both together a confidence sequence (Howard, Ramdas,
McAuliffe and Sekhon, Annals of Statistics 49, 2021).

1 + tanh(r y) is 2 / (1 + exp(-2 r y)), the likelihood ratio of the sign of y given |y| if y is
normal around r with variance 1 and not around 0: for normal noise no bet on signs grows faster.
"""

from __future__ import annotations

import math

import numpy as np

from changepoint.noise import NORMAL_MEDIAN
from changepoint.series import Floats

RATES = np.array([0.3, 0.6, 1.2, 3.0])
"""Rates of the bets: each is best for a centre that lies so many scales from zero. The lowest suits
an effect of a third of the noise, which about a hundred differences show; the highest suits an
effect of several times the noise, which six differences show. The wealth is the mean of these four,
so its logarithm is at most log(4) behind the best of them."""

CLIP = 2.0
"""Limit of a difference, in scales: a larger difference counts as this much. One spike in the wrong
direction then costs a bettor at the lower rates a factor of 2 to 6, not all of the wealth."""

WARM_UP = 3
"""Number of differences from which the scale is estimated; with fewer, the caller's guess is
used."""

FLOOR = 0.1
"""Lower bound of the scale as a share of the guess: quantised differences may all be equal."""

BISECTIONS = 60
"""Number of bisection steps for an end of the interval: enough for the last digits of a double."""


def next_scale(past: Floats, guess: float) -> float:
    """Return the expected size of the next difference, from the earlier ones.

    It is the median absolute deviation of ``past``, (n,).
    """
    if len(past) < WARM_UP:
        return guess
    spread = float(np.median(np.abs(past - np.median(past)))) / NORMAL_MEDIAN
    return max(spread, FLOOR * guess)


def log_wealth(values: Floats, scales: Floats, theta: float) -> float:
    """Return the evidence that values lie above ``theta``, as a logarithm."""
    y = np.clip((values - theta) / scales, -CLIP, CLIP)
    # log(1 + tanh(z)) without cancellation.
    bets = math.log(2.0) - np.logaddexp(0.0, -2.0 * np.multiply.outer(RATES, y))
    return float(np.logaddexp.reduce(np.sum(bets, axis=1))) - math.log(len(RATES))


def lower_end(values: Floats, scales: Floats, alpha: float) -> float:
    """Return the largest value that is refuted as the centre at error ``alpha``.

    -inf if no value is refuted yet.
    """
    enough = -math.log(alpha)
    refuted = float(np.min(values - CLIP * scales))  # all bets are won in full from here down
    if log_wealth(values, scales, refuted) < enough:
        return -math.inf
    possible = float(np.max(values))  # all bets are lost
    for _ in range(BISECTIONS):
        middle = refuted + (possible - refuted) / 2.0
        if log_wealth(values, scales, middle) < enough:
            possible = middle
        else:
            refuted = middle
    return refuted


def interval(values: Floats, scales: Floats, confidence: float) -> tuple[float, float]:
    """Return the confidence interval of the centre of some values.

    Values are (n,), n >= 1; returns (low, high).
    """
    alpha = (1.0 - confidence) / 2.0
    return lower_end(values, scales, alpha), -lower_end(-values, scales, alpha)
