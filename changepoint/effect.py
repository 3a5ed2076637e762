"""How large changes are and where they may be: levels and confidence intervals, no randomness."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import ndtri, stdtrit

from changepoint import measuring
from changepoint.model import Level, Noise
from changepoint.noise import (
    CLIP,
    NORMAL_MEDIAN,
    clip_replicates,
    smallest_gaps,
    sorted_groups,
)
from changepoint.position_test import is_replicated
from changepoint.series import RESOLUTION, Floats, Ints, Series

PLANNED = 0.97
"""Confidence that the intervals are computed for so that, with what the model leaves out, they hold
the truth at 95 %: that the place was chosen, that a step had to look large to be found, two modes,
and what the reach of the clipping depends on. Empirical: with intervals for 95 %, 92 to 95 % of
2000 steps a kind of noise were held (``evaluate.coverage``, seed 5001); 97 % was then verified on
other seeds (docs/statistics.md)."""

LOCATION_DROP = -2.0 * math.log(1.0 - math.sqrt(PLANNED))
"""A position stays in the interval while moving the change there costs less than this many noise
variances of squared error: the quantile of the likelihood ratio for a change point, whose
distribution is (1 - exp(-x/2))^2 (Siegmund, Annals of Statistics 16, 1988)."""

MAD_TO_DEVIATION = 1.0 / NORMAL_MEDIAN
"""Makes the median absolute deviation of normal values their standard deviation."""

NORMAL_PLANNED = float(ndtri(0.5 + PLANNED / 2.0))
"""Two-sided quantile of the normal distribution."""

FEWEST = 10
"""Positions from which on the shape of the noise is told."""

LARGEST_EXPONENT = measuring.LARGEST_EXPONENT
"""exp() of more overflows a double."""

MAX_PHI = 0.9
"""Largest autocorrelation that intervals allow for: beyond it a level has no meaning."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A series cut at its changes.

    edges: (segments + 1,) ordinals of positions. levels: of the segments. effects: (changes, 2)
    bounds of the relative change. places: (changes, 2) first and last position that may start
    the right segment. noise: around the levels.
    """

    edges: Ints
    levels: tuple[Level, ...]
    effects: list[list[float]]
    places: list[list[int]]
    noise: Noise


@dataclass(frozen=True, slots=True)
class Means:
    """One value per position: the mean of its replicates after outlying ones were moved back.

    means: (positions,). squares, moved: sums of squares around them and values moved back; empty
    where every position is one value.
    """

    means: Floats
    squares: Floats
    moved: Floats

    @classmethod
    def of(cls, series: Series) -> Means:
        """The means of a series, in its scale."""
        if series.positions == len(series.scaled):
            empty = np.zeros(0)
            return cls(series.scaled, empty, empty)
        clipped = clip_replicates(series.scaled, series.offsets)
        return cls(*measuring.positions(series.scaled, clipped, series.offsets))

    def table(self, series: Series, edges: Ints) -> Floats:
        """What is said of the segments that ``edges`` (segments + 1,) cut the series into."""
        ordered = sorted_groups(self.means, edges)
        table = measuring.segments(
            self.means, (self.squares, self.moved), series.offsets, ordered, edges
        )
        bounds = edges
        if len(self.squares):
            bounds = series.offsets[edges]
            ordered = sorted_groups(series.scaled, bounds)
        table[:, measuring.GAP], table[:, measuring.REPEATS] = smallest_gaps(
            ordered, bounds, RESOLUTION
        )
        return table

    def levels(self, series: Series, edges: Sequence[int]) -> list[float]:
        """The levels between ``edges``, in the caller's unit; they need not span the series."""
        table = self.table(series, np.array(edges, dtype=np.int64))
        return [level.level for level in _levels(series, table)]


def measure(series: Series, changes: Sequence[int]) -> Measured:
    """Measure a series of at least one position between its changes, given as ordinals."""
    means = Means.of(series)
    edges = np.array([0, *changes, series.positions], dtype=np.int64)
    table = means.table(series, edges)
    levels = _levels(series, table)
    noise = _noise(series, means.means, table, edges)
    if len(table) == 1:
        return Measured(edges, levels, [], [], noise)
    phi, certainty = _dependence(noise.autocorrelation, series.positions)
    degrees = np.maximum(measuring.degrees(table, phi) * certainty, 1.0)
    quantiles = stdtrit(degrees, 0.5 + PLANNED / 2.0)
    centres = np.array([level.level for level in levels])
    effects = measuring.effects(table, centres, series.unit, phi, quantiles)
    # Student's quantile in place of the normal one where the noise is known badly.
    drops = LOCATION_DROP * (quantiles / NORMAL_PLANNED) ** 2
    places = measuring.places(means.means, series.offsets, table, edges, phi, drops)
    return Measured(edges, levels, effects.tolist(), places.tolist(), noise)


def _levels(series: Series, table: Floats) -> tuple[Level, ...]:
    counts = table[:, measuring.COUNT]
    squares = table[:, measuring.SCATTER] + table[:, measuring.INNER]
    spreads = series.unit * np.sqrt(squares / np.maximum(counts - 1.0, 1.0))
    centres = series.origin + series.unit * table[:, measuring.CENTRE]
    return tuple(
        Level(centre, spread, int(count))
        for centre, spread, count in zip(
            centres.tolist(), spreads.tolist(), counts.tolist(), strict=True
        )
    )


def _noise(series: Series, means: Floats, table: Floats, edges: Ints) -> Noise:
    """The noise around the levels of all segments."""
    n = series.positions
    # Scatter of position means, each with its count: the variance of a single value if what
    # differs between positions is only that of their replicates.
    scale = float(np.sum(table[:, measuring.SCATTER])) / max(n - len(table), 1)
    between = 0.0
    extra = len(series.scaled) - n
    if extra and is_replicated(np.diff(series.offsets)):
        within = float(np.sum(table[:, measuring.INNER])) / extra
        scale, between = within, max(scale - within, 0.0) * n / len(series.scaled)
    gap = float(np.min(table[:, measuring.GAP]))
    repeats = gap < math.inf and bool(np.any(table[:, measuring.REPEATS]))
    tails, autocorrelation = _shape(means, table, edges)
    return Noise(
        scale=series.unit * math.sqrt(scale),
        between=series.unit * math.sqrt(between),
        quantum=series.unit * gap if repeats else 0.0,
        tails=tails,
        autocorrelation=autocorrelation,
    )


def _shape(means: Floats, table: Floats, edges: Ints) -> tuple[float, float]:
    """Share of positions in the tails and the correlation of neighbours, inside segments.

    The correlation is of values moved to within ``CLIP`` robust deviations of the median of their
    segment, corrected for the bias of a correlation around s estimated levels, which is
    - s (1 + 3 phi) / n (Marriott and Pope, Biometrika 41, 1954); 0 if there are fewer than ten
    values or no noise.
    """
    n = len(means)
    if n < FEWEST:
        return 0.0, 0.0
    away = np.sort(measuring.deviations(means, table, edges))
    reach = CLIP * 0.5 * float(away[(n - 1) // 2] + away[n // 2]) / NORMAL_MEDIAN
    if reach == 0.0:
        return 0.0, 0.0
    tails, raw = measuring.shape(means, table, edges, reach)
    share = len(table) / n
    corrected = raw + share * (1.0 + 3.0 * max(raw, 0.0))
    return tails, min(max(corrected, -1.0), 1.0)


def _dependence(autocorrelation: float, n: int) -> tuple[float, float]:
    """The autocorrelation that intervals allow for, and what is left of the degrees of freedom.

    The estimate has a variance of 1/n if nothing is correlated, so it is shrunk by the factor
    1 - 1 / (n phi^2), and one that is smaller than that or negative counts as none (the positive
    part of James and Stein's estimator). The variance of a mean of an autoregression is
    s / (1 - phi)^2, s that of its innovations; the variances of the logarithms of both parts are
    2 / n and 4 (1 + phi) / (1 - phi) / n, and 2 / n is that of a variance with n degrees.
    """
    square = autocorrelation * autocorrelation
    if autocorrelation <= 0.0 or n * square <= 1.0:
        return 0.0, 1.0
    weight = 1.0 - 1.0 / (n * square)
    phi = min(autocorrelation * weight, MAX_PHI)
    return phi, 1.0 / (1.0 + 2.0 * weight * (1.0 + phi) / (1.0 - phi))


def relative(before: float, after: float) -> float:
    """(after - before) / |before|, infinite if the level before is zero and the one after not."""
    if before == 0.0:
        return math.copysign(math.inf, after) if after else 0.0
    return (after - before) / abs(before)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Positions [start, stop) of a series that was cut into stretches: segment ``number``."""

    start: int
    stop: int
    number: int
    measured: Measured


def stretches(series: Series, changes: list[int]) -> list[Stretch]:
    """The series cut before each of the given positions."""
    measured = measure(series, changes)
    pairs = pairwise(measured.edges.tolist())
    return [Stretch(start, stop, i, measured) for i, (start, stop) in enumerate(pairs)]


def level(_: Series, stretch: Stretch) -> Level:
    """The level of a stretch in the caller's unit."""
    return stretch.measured.levels[stretch.number]


def effect_interval(_: Series, left: Stretch, right: Stretch) -> tuple[float, float]:
    """Confidence interval of the relative change of level from a stretch to the next one."""
    low, high = right.measured.effects[left.number]
    return low, high


def position_interval(left: Stretch, right: Stretch) -> tuple[int, int]:
    """The first and last position, as ordinals in the series, that may start the right stretch."""
    first, last = right.measured.places[left.number]
    return first, last
