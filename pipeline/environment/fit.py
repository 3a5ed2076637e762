"""Fit the level of each control figure of a machine between known changes (least squares)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pipeline.environment.noise import autocorrelation, clipped
from pipeline.environment.panel import Floats

CLEAR = 3.5
"""Standard errors by which a change must move a figure to be fitted to it. In a machine with twenty
figures, about one change in a hundred includes a figure that did not move."""

_ROUNDS = 4
"""Rounds of clipping outlying nights. After three rounds, levels move by less than a tenth of their
standard error."""


class MachineChange(NamedTuple):
    """The nights in which a machine changed: one for a step, several for a ramp.

    A step applies from the night ``first`` on, with ``first == last``. A ramp begins in the night
    ``first`` and has its full size from ``last`` on. ``earliest`` and ``latest`` bound the
    ``first`` night of a step.
    """

    first: int
    last: int
    earliest: int
    latest: int

    @property
    def ramp(self) -> bool:
        """Whether the machine changed over several nights, not at once."""
        return self.last > self.first

    def course(self, nights: int) -> Floats:
        """Return which share of the change is complete in each night.

        Returns (nights,).
        """
        place = np.arange(nights, dtype=float)
        if self.ramp:
            return np.clip((place - self.first) / (self.last - self.first), 0.0, 1.0)
        return (place >= self.first).astype(float)


@dataclass(frozen=True)
class LevelFit:
    """The fitted level of each control figure: at the start, and by how much each change moves it.

    ``start`` is (figures,), ``sizes`` (figures, changes), as natural logarithms; the size is 0
    where a change does not move a figure. ``start_errors`` and ``errors`` are their standard
    errors; ``deviation`` (figures,) is the standard deviation of a night. ``courses`` is (changes,
    nights).
    """

    changes: tuple[MachineChange, ...]
    courses: Floats
    start: Floats
    start_errors: Floats
    sizes: Floats
    errors: Floats
    deviation: Floats
    residuals: Floats

    @property
    def moved(self) -> Floats:
        """Return how far each control figure is from its start in each night.

        Returns (figures, nights), as natural logarithms.
        """
        moved: Floats = self.sizes @ self.courses
        return moved


def courses(changes: Sequence[MachineChange], nights: int) -> Floats:
    """Return which share of each change is complete in each night.

    Returns (changes, nights).
    """
    return np.array([change.course(nights) for change in changes]).reshape(-1, nights)


def fit(means: Floats, changes: Sequence[MachineChange], deviation: Floats) -> LevelFit:
    """Fit the levels of control figures; a figure keeps only changes that clearly move it.

    Values are (figures, nights).

    ``deviation`` is (figures,), the standard deviation of a night.
    """
    # Whether a change is clear depends on the autocorrelation of nights, which the residuals of a
    # first fit give.
    phi = autocorrelation(_fitted(means, changes, deviation, 1.0).residuals)
    return _fitted(means, changes, deviation, math.sqrt((1 + phi) / (1 - phi)))


def _fitted(
    means: Floats, changes: Sequence[MachineChange], deviation: Floats, inflation: float
) -> LevelFit:
    """Fit levels, with standard errors enlarged by ``inflation`` because nights are correlated."""
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
            # Drop the least clear change first: without it the others show better.
            del taken[int(apart.argmin())]
        start[at], start_errors[at] = one.start, one.start_error
        sizes[at, taken], errors[at, taken] = one.sizes, one.errors
        residuals[at] = one.residuals
    return LevelFit(
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
    """Fit the levels of one control figure; a change without nights on both sides has size 0."""
    there = np.isfinite(values)
    design = np.vstack([np.ones(len(values)), courses])[:, there].T
    measured = values[there]
    inverse = np.linalg.pinv(design)
    found = inverse @ measured
    level = np.full(len(measured), float(np.median(measured)))
    if len(courses):
        # Start from the fit, which outliers may bend: a step may bend the median more.
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
