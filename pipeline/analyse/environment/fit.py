"""The level of a machine's controls, given when it changed: least squares for each figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pipeline.analyse.environment.noise import clipped, moods
from pipeline.analyse.environment.panel import Floats

CLEAR = 3.5
"""Standard errors from which on a figure is part of a change of its machine: of a machine with
twenty figures one is wrongly so in a hundred changes."""

_ROUNDS = 4
"""Rounds of moving outlying nights back: the levels move by less than a tenth of their error after
three."""


class Change(NamedTuple):
    """When a machine changed, in columns of its panel.

    A step is there from the night ``first`` on, with ``first == last``; a ramp begins in the night
    ``first`` and has its full size from ``last`` on. ``earliest`` and ``latest`` bound ``first`` of
    a step.
    """

    first: int
    last: int
    earliest: int
    latest: int

    @property
    def ramp(self) -> bool:
        """Say whether it came slowly."""
        return self.last > self.first

    def course(self, nights: int) -> Floats:
        """Return (nights,): what share of its full size it has in each night."""
        place = np.arange(nights, dtype=float)
        if self.ramp:
            return np.clip((place - self.first) / (self.last - self.first), 0.0, 1.0)
        return (place >= self.first).astype(float)


@dataclass(frozen=True)
class Fit:
    """The level of each figure: a start, and what each change adds to it.

    ``start`` is (figures,), ``sizes`` (figures, changes), natural logarithms; a figure that a
    change does not move has 0 there. ``start_errors`` and ``errors`` are their standard errors,
    ``deviation`` (figures,) is the noise of a night. ``courses`` is (changes, nights).
    """

    changes: tuple[Change, ...]
    courses: Floats
    start: Floats
    start_errors: Floats
    sizes: Floats
    errors: Floats
    deviation: Floats
    residuals: Floats

    @property
    def moved(self) -> Floats:
        """Return (figures, nights): how far a level is from where it started."""
        moved: Floats = self.sizes @ self.courses
        return moved


def courses(changes: Sequence[Change], nights: int) -> Floats:
    """Return (changes, nights): what share of its full size each change has in each night."""
    return np.array([change.course(nights) for change in changes]).reshape(-1, nights)


def fit(means: Floats, changes: Sequence[Change], deviation: Floats) -> Fit:
    """Fit levels to (figures, nights); a change stays with the figures it clearly moves.

    ``deviation`` is (figures,), the noise of a night.
    """
    # What is clear follows from the moods of days, and these are what is left when that is fitted.
    phi = moods(_fitted(means, changes, deviation, 1.0).residuals)
    return _fitted(means, changes, deviation, math.sqrt((1 + phi) / (1 - phi)))


def _fitted(means: Floats, changes: Sequence[Change], deviation: Floats, inflation: float) -> Fit:
    """Fit levels with errors that are ``inflation`` times those of independent nights."""
    figures, nights = means.shape
    shapes = courses(changes, nights)
    start, sizes = np.zeros(figures), np.zeros((figures, len(changes)))
    start_errors, errors = np.zeros(figures), np.full(sizes.shape, np.inf)
    residuals = np.full(means.shape, np.nan)
    for at in range(figures):
        taken = list(range(len(changes)))
        while True:
            one = _figure(means[at], shapes[taken], float(deviation[at]))
            apart = np.abs(one.sizes) / (one.errors * inflation)
            if not taken or apart.min() >= CLEAR:
                break
            # The least clear first: without it the others are seen better.
            del taken[int(apart.argmin())]
        start[at], start_errors[at] = one.start, one.start_error
        sizes[at, taken], errors[at, taken] = one.sizes, one.errors
        residuals[at] = one.residuals
    return Fit(
        changes=tuple(changes),
        courses=shapes,
        start=start,
        start_errors=start_errors * inflation,
        sizes=sizes,
        errors=errors * inflation,
        deviation=deviation,
        residuals=residuals,
    )


class _One(NamedTuple):
    start: float
    start_error: float
    sizes: Floats
    errors: Floats
    residuals: Floats


def _figure(values: Floats, courses: Floats, deviation: float) -> _One:
    """Fit one figure. A change with nights on one side only has size 0 and no error."""
    there = np.isfinite(values)
    design = np.vstack([np.ones(len(values)), courses])[:, there].T
    measured = values[there]
    inverse = np.linalg.pinv(design)
    found = inverse @ measured
    level = np.full(len(measured), float(np.median(measured)))
    if len(courses):
        # From a fit that outliers may bend, not from the median, which a step may bend more.
        level = design @ found
    for _ in range(_ROUNDS):
        found = inverse @ (level + clipped(measured - level, deviation))
        level = design @ found
    spread = inverse @ inverse.T
    error = deviation * np.sqrt(np.diag(spread))
    known = np.ptp(design[:, 1:], axis=0) > 0.0
    residuals = np.full(len(values), np.nan)
    residuals[there] = clipped(measured - level, deviation)
    return _One(
        start=float(found[0]),
        start_error=float(error[0]),
        sizes=np.where(known, found[1:], 0.0),
        errors=np.where(known, error[1:], np.inf),
        residuals=residuals,
    )
