"""How large a step has to be to be found: the other side of a budget of false alarms.

A step is told in standard errors of the difference of the two levels that it separates. Found
means with a probability of 80 %, over series of which the noise itself is only estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import stdtrit

from changepoint.calibration import LENGTHS
from changepoint.position_test import PRIOR_DEGREES, PRIOR_RATIO, WHOLE_SHARE
from changepoint.series import Ints

POWER = 0.8416212335729143
"""Quantile of the normal distribution at the power that is meant by found, 80 %."""

FRESH = 5
"""Positions behind a step that is called fresh, or half of a series that is shorter than ten."""

ANYWHERE = (2.2, 2.0, 1.42, 1.27, 1.18, 1.18, 1.18)
"""Needed by the default search at ``LENGTHS``, in what its limit is as a Student's t. It is more
than 1 because in one series of five what looks like an autocorrelation is taken off, which where
a side is short costs half of a strength and more; that is seldom in long series. Simulated, as
``MIDDLE``: ``python -m changepoint.evaluate power``."""

TAILS = 12.0
"""``ANYWHERE`` is multiplied by 1 and this times the share of the noise that is in its tails: the
guards of a short side ask for more where values stick out."""

MIDDLE = (13.5, 12.4, 8.1, 6.3, 5.9, 5.5, 5.5)
"""Needed in the middle at least, at ``LENGTHS``, whatever the budget: there a straight line
explains three quarters of what a step does, and the rest has to exceed the guard against ramps."""

SHORTEST = 11
"""Positions that the default search needs: of ten, one series in six shows no step at all."""

SHORTEST_FRESH = 20
"""The same for a fresh step: of twelve, heavy tails hide any in one series of five, and of sixteen
what is needed is too uncertain to be told."""


@dataclass(frozen=True, slots=True)
class Needed:
    """The smallest steps that are found, in standard errors: in the middle, and a fresh one."""

    middle: float
    fresh: float


NOTHING = Needed(math.inf, math.inf)

Needs = Callable[[float], Needed]
"""From the share of the noise that is in its tails to the steps that are found."""


def by_scan(positions: int, limit: float, tails: float) -> Needed:
    """What the default search finds at a limit, a squared normal deviation."""
    if positions < SHORTEST:
        return NOTHING
    fresh, middle = _scan(positions, limit)
    fresh *= 1.0 + TAILS * tails
    return Needed(max(middle, fresh), fresh if positions >= SHORTEST_FRESH else math.inf)


# A series that grows asks for the same again and again.
@lru_cache(maxsize=1024)
def _scan(positions: int, limit: float) -> tuple[float, float]:
    degrees = positions - 2.0
    # The inverse of scan.evidence.
    least = math.sqrt(degrees * math.expm1(min(limit / (degrees - 0.5), 700.0)))
    place, places = math.log(positions), np.log(LENGTHS)
    anywhere, middle = (float(np.interp(place, places, table)) for table in (ANYWHERE, MIDDLE))
    return anywhere * least, middle


def by_position_test(counts: Ints, probability: float, _: float = 0.0) -> Needed:
    """What the test of positions finds at an alarm probability; counts: replicates (positions,).

    As :func:`changepoint.position_test.best_split` computes it where positions do not differ,
    its noise then a mean of that of the replicates, made larger, and the scatter of the positions.
    """
    positions = len(counts)
    within, between = float(np.sum(counts - 1)), positions - 2.0
    sure = 1.0 / (1.0 / PRIOR_DEGREES + 1.0 / within)
    prior = 1.0 + float(np.mean(counts)) * PRIOR_RATIO
    degrees = sure + between
    looks = (positions - 1.0) / WHOLE_SHARE
    least = -float(stdtrit(degrees, probability / 2.0 / looks))
    return _alike(least * math.sqrt((sure * prior + between) / degrees), degrees, least)


def by_deviation(limit: float, degrees: float = math.inf) -> Needed:
    """What a plain test finds at a limit, a squared deviation from a noise of so many degrees."""
    least = math.sqrt(limit)
    return _alike(least, degrees, least)


def _alike(threshold: float, degrees: float, least: float) -> Needed:
    """The same in the middle and for a fresh step.

    The deviation of a noncentral t is the square root of 1 + t^2 / (2 degrees) (Johnson and Welch,
    Biometrika 31, 1940); the noise that a step is told in is as uncertain once more.
    """
    needed = threshold + POWER * math.sqrt(1.0 + least * least / degrees)
    return Needed(needed, needed)
