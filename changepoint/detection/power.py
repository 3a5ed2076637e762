"""The smallest step that a search can find in a series with given noise and length.

The unit of a step is the standard error of the difference between the levels before and after it. A
step counts as found if the search finds it with a probability of 80 %, over series whose noise
itself is only estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri, stdtrit

from changepoint.detection.between_positions import PRIOR_DEGREES, PRIOR_RATIO, WHOLE_SHARE
from changepoint.detection.calibration import LENGTHS
from changepoint.series import Ints

POWER = float(ndtri(0.8))
"""Quantile of the normal distribution at a power of 80 %."""

FRESH = 5
"""Number of positions after a fresh step; in a series of fewer than ten positions, half of them."""

ANYWHERE = (2.2, 2.0, 1.42, 1.27, 1.18, 1.18, 1.18)
"""Step sizes that the default search needs at ``LENGTHS``, relative to its limit as a Student's t.
The factors exceed 1 because in one series of five an apparent autocorrelation is deducted, which
costs half of the strength and more where a side is short; this is rare in long series. Simulated,
as is ``MIDDLE``: ``python -m changepoint.evaluate power``."""

TAILS = 12.0
"""``ANYWHERE`` is multiplied by 1 + this times the tail share of the noise: the guards of a short
side require more where values are outliers."""

MIDDLE = (13.5, 12.4, 8.1, 6.3, 5.9, 5.5, 5.5)
"""Minimum step sizes in the middle at ``LENGTHS``, for any budget: there a straight line explains
three quarters of a step, and the rest must exceed the guard against ramps."""


Needs = Callable[[float, int], float]
"""Returns the smallest step that a search finds, in standard errors, for a tail share of the noise
and a number of positions after the step; infinite if no step is found there."""


@dataclass(frozen=True, slots=True)
class SearchNoise:
    """What a search knows of the noise besides the series: some fields of :class:`scan.Sizes`."""

    sure: float
    phi: float
    trust: float


def by_scan(
    positions: int, limit: float, noise: SearchNoise, least: int, tails: float, behind: int
) -> float:
    """Return the smallest step that the default search finds.

    limit: least strength of a change, a squared normal deviation. least: fewest positions of a
    side.
    """
    short = min(behind, positions - behind)
    # Shorter series are ladders.
    if positions < LENGTHS[1] or short < least:
        return math.inf
    anywhere, middle = _scan(positions, limit, noise)
    # A straight line explains three quarters of a step in the middle, and less of others.
    share = short / positions
    ramp = middle * math.sqrt(0.25 / (1.0 - 3.0 * share * (1.0 - share)))
    return max(anywhere * (1.0 + TAILS * tails), ramp)


# Cached: a growing series repeats the same arguments.
@lru_cache(maxsize=1024)
def _scan(positions: int, limit: float, noise: SearchNoise) -> tuple[float, float]:
    """Return the smallest step above the limit, and the smallest that passes the ramp guard."""
    degrees = positions - 2.0 + noise.sure
    # The inverse of scan.evidence.
    least = math.sqrt(degrees * math.expm1(min(limit / (degrees - 0.5), 700.0)))
    place, places = math.log(positions), np.log(LENGTHS)
    # The tables include the autocorrelation that a short series seems to have.
    estimated = noise.trust if noise.phi < 0.0 else 0.0
    anywhere, middle = (
        table[-1] + estimated * (float(np.interp(place, places, table)) - table[-1])
        for table in (ANYWHERE, MIDDLE)
    )
    phi = max(noise.phi, 0.0)
    longer = math.sqrt((1.0 + phi) / (1.0 - phi))
    return anywhere * least * longer, noise.trust * middle * longer


def by_position_test(counts: Ints, probability: float) -> float:
    """Return the smallest step that the position test finds at this alarm probability.

    counts: (positions,) number of replicates. The computation follows
    :func:`changepoint.detection.between_positions.best_split` for positions that do not differ. The
    noise is then a mean of the enlarged noise of the replicates and the scatter of the positions.
    """
    positions = len(counts)
    within, between = float(np.sum(counts - 1)), positions - 2.0
    sure = 1.0 / (1.0 / PRIOR_DEGREES + 1.0 / within)
    prior = 1.0 + float(np.mean(counts)) * PRIOR_RATIO
    degrees = sure + between
    looks = (positions - 1.0) / WHOLE_SHARE
    least = -float(stdtrit(degrees, probability / 2.0 / looks))
    return _found(least * math.sqrt((sure * prior + between) / degrees), degrees, least)


def by_deviation(limit: float, degrees: float = math.inf) -> float:
    """Return the smallest step that a test against a fixed deviation finds.

    limit: the deviation, squared. degrees: degrees of freedom of the noise.
    """
    least = math.sqrt(limit)
    return _found(least, degrees, least)


def _found(threshold: float, degrees: float, least: float) -> float:
    """Return the size of a step that exceeds a threshold in four of five series.

    The deviation of a noncentral t is the square root of 1 + t^2 / (2 degrees) (Johnson and Welch,
    Biometrika 31, 1940); the estimated noise that converts the step to standard errors is as
    uncertain, which doubles the variance t^2 / (2 degrees).
    """
    return threshold + POWER * math.sqrt(1.0 + least * least / degrees)
