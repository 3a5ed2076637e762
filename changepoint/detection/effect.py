"""Effects of changes: the levels before and after, the place, and their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import ndtri, stdtrit

from changepoint.detection import effect_kernels
from changepoint.detection.between_positions import is_replicated
from changepoint.detection.default import LADDER
from changepoint.detection.scan import MAX_PHI
from changepoint.model import Noise, SegmentLevel
from changepoint.noise import (
    CLIP,
    NORMAL_MEDIAN,
    smallest_gaps,
    sorted_groups,
)
from changepoint.series import RESOLUTION, Floats, GroupedSeries, Ints

PLANNED = 0.97
"""Nominal confidence of the intervals. Their real coverage is 95 %, because the model omits some
effects: the selection of the place, the size that a step needs to be found, two modes, and the
dependence of the clipping on the data. The value is empirical: with nominal 95 %, the intervals
contained 92 to 95 % of 2000 steps per kind of noise (``evaluate.coverage``, seed 5001); 97 % was
then verified with other seeds (docs/internals/statistics.md)."""

LOCATION_DROP = -2.0 * math.log(1.0 - math.sqrt(PLANNED))
"""A position is in the interval if moving the change there costs less than this many noise
variances of squared error: the quantile of the likelihood ratio for a change point, whose
distribution is (1 - exp(-x/2))^2 (Siegmund, Annals of Statistics 16, 1988)."""

NORMAL_PLANNED = float(ndtri(0.5 + PLANNED / 2.0))
"""Two-sided quantile of the normal distribution for the confidence ``PLANNED``."""

FEWEST = 10
"""Fewest positions for estimating the shape of the noise."""


@dataclass(frozen=True, slots=True)
class SegmentedSeries:
    """A series that is cut into segments at its changes, with the noise around them.

    edges: (segments + 1,) ordinals of positions. levels: of the segments. effects: (changes, 2)
    bounds of the relative change. places: (changes, 2) first and last position at which the right
    segment may begin. noise: the noise around the levels.
    """

    edges: Ints
    levels: tuple[SegmentLevel, ...]
    effects: list[list[float]]
    places: list[list[int]]
    noise: Noise


@dataclass(frozen=True, slots=True)
class Means:
    """One value for each position: the mean of its replicates after clipping outliers.

    means: (positions,). squares: (positions,) sum of squares of the replicates around each mean.
    moved: (positions,) number of clipped replicates. Both are empty if every position has one
    value.
    """

    means: Floats
    squares: Floats
    moved: Floats

    @classmethod
    def of(cls, series: GroupedSeries) -> Means:
        """Compute the mean of each position of a series, in the internal scale of the series."""
        if series.positions == len(series.scaled):
            empty = np.zeros(0)
            return cls(series.scaled, empty, empty)
        return cls(*effect_kernels.positions(series.scaled, series.clipped, series.offsets))

    def table(self, series: GroupedSeries, edges: Ints) -> Floats:
        """Return statistics of the segments between ``edges``, one row for each segment.

        Edges are (segments + 1,).
        """
        ordered = sorted_groups(self.means, edges)
        table = self._table(series, ordered, edges)
        bounds = edges
        if len(self.squares):
            bounds = series.offsets[edges]
            ordered = sorted_groups(series.scaled, bounds)
        table[:, effect_kernels.GAP], table[:, effect_kernels.REPEATS] = smallest_gaps(
            ordered, bounds, RESOLUTION
        )
        return table

    def levels(self, series: GroupedSeries, edges: Sequence[int]) -> list[float]:
        """Return the level of each segment between ``edges``, in the unit of the caller."""
        bounds = np.array(edges, dtype=np.int64)
        table = self._table(series, sorted_groups(self.means, bounds), bounds)
        return [level.level for level in _levels(series, table)]

    def _table(self, series: GroupedSeries, ordered: Floats, edges: Ints) -> Floats:
        """Return the statistics of the segments, without gaps.

        ordered: the means, sorted inside segments.
        """
        inner = (self.squares, self.moved)
        return effect_kernels.segments(self.means, inner, series.offsets, ordered, edges)


def measure(
    series: GroupedSeries, changes: Sequence[int], means: Means | None = None
) -> SegmentedSeries:
    """Measure the effects and intervals of a series at its changes, given as position numbers.

    ``means`` are the means of the series, if the caller has computed them already.
    """
    means = means if means is not None else Means.of(series)
    edges = np.array([0, *changes, series.positions], dtype=np.int64)
    table = means.table(series, edges)
    levels = _levels(series, table)
    noise = _noise(series, means.means, table, edges)
    if len(table) == 1:
        return SegmentedSeries(edges, levels, [], [], noise)
    phi, certainty = _dependence(noise.autocorrelation, series.positions)
    degrees = np.maximum(effect_kernels.degrees(table, phi) * certainty, 1.0)
    quantiles = stdtrit(degrees, 0.5 + PLANNED / 2.0)
    centres = np.array([level.level for level in levels])
    # A ladder is measured at once: its machine has no time to drift.
    slopes = (0.0, 0.0)
    if series.positions > LADDER:
        slopes = effect_kernels.slope(means.means, series.offsets, table, edges)
    effects = effect_kernels.effects(
        table, centres, _reaches(series, edges), series.unit, phi, quantiles, slopes
    )
    # Student's quantile replaces the normal one where the noise is uncertain.
    drops = LOCATION_DROP * (quantiles / NORMAL_PLANNED) ** 2
    places = effect_kernels.places(means.means, series.offsets, table, edges, phi, drops)
    return SegmentedSeries(edges, levels, effects.tolist(), places.tolist(), noise)


def _reaches(series: GroupedSeries, edges: Ints) -> Floats:
    """Return the positions from each change to the centres of the segments before and after it.

    Returns (changes, 2).
    """
    offsets = series.offsets
    centres = np.array([effect_kernels.centre_of(offsets, *pair) for pair in pairwise(edges)])
    changes = edges[1:-1] - 0.5
    return np.stack((changes - centres[:-1], centres[1:] - changes), axis=1)


def _levels(series: GroupedSeries, table: Floats) -> tuple[SegmentLevel, ...]:
    counts = table[:, effect_kernels.COUNT]
    squares = table[:, effect_kernels.SCATTER] + table[:, effect_kernels.INNER]
    spreads = series.unit * np.sqrt(squares / np.maximum(counts - 1.0, 1.0))
    centres = series.origin + series.unit * table[:, effect_kernels.CENTRE]
    return tuple(
        SegmentLevel(centre, spread, int(count))
        for centre, spread, count in zip(
            centres.tolist(), spreads.tolist(), counts.tolist(), strict=True
        )
    )


def _noise(series: GroupedSeries, means: Floats, table: Floats, edges: Ints) -> Noise:
    """Estimate the noise of a series around the levels of all its segments."""
    n = series.positions
    # Scatter of position means, weighted by their counts: the variance of a single value if
    # replicates cause all differences between positions.
    scale = float(np.sum(table[:, effect_kernels.SCATTER])) / max(n - len(table), 1)
    between = 0.0
    extra = len(series.scaled) - n
    if extra and is_replicated(np.diff(series.offsets)):
        within = float(np.sum(table[:, effect_kernels.INNER])) / extra
        scale, between = within, max(scale - within, 0.0) * n / len(series.scaled)
    gap = float(np.min(table[:, effect_kernels.GAP]))
    repeats = gap < math.inf and bool(np.any(table[:, effect_kernels.REPEATS]))
    tails, autocorrelation = _shape(means, table, edges)
    return Noise(
        scale=series.unit * math.sqrt(scale),
        between=series.unit * math.sqrt(between),
        quantum=series.unit * gap if repeats else 0.0,
        tails=tails,
        autocorrelation=autocorrelation,
    )


def _shape(means: Floats, table: Floats, edges: Ints) -> tuple[float, float]:
    """Return the share of outlying positions, and the correlation of neighbouring positions.

    The correlation is of values clipped at ``CLIP`` robust deviations from the median of their
    segment. It is corrected for the bias of a correlation around s estimated levels, which is - s
    (1 + 3 phi) / n (Marriott and Pope, Biometrika 41, 1954); 0 if there are fewer than ten values
    or no noise.
    """
    n = len(means)
    if n < FEWEST:
        return 0.0, 0.0
    away = np.sort(effect_kernels.deviations(means, table, edges))
    reach = CLIP * 0.5 * float(away[(n - 1) // 2] + away[n // 2]) / NORMAL_MEDIAN
    if reach == 0.0:
        return 0.0, 0.0
    tails, raw = effect_kernels.shape(means, table, edges, reach)
    share = len(table) / n
    corrected = raw + share * (1.0 + 3.0 * max(raw, 0.0))
    return tails, min(max(corrected, -1.0), 1.0)


def _dependence(autocorrelation: float, n: int) -> tuple[float, float]:
    """Return the autocorrelation to use for intervals, and the degrees of freedom left.

    The estimate has a variance of 1/n if nothing is correlated, so it is shrunk by the factor 1 - 1
    / (n phi^2); an estimate that is negative, or too small for this factor, counts as 0 (the
    positive part of James and Stein's estimator). The variance of a mean of an autoregression is s
    / (1 - phi)^2, where s is that of its innovations. The logarithms of s and of (1 - phi)^2 have
    the variances 2 / n and 4 (1 + phi) / (1 - phi) / n. The degrees of freedom, as a share of n,
    follow because the logarithm of a variance with n degrees has the variance 2 / n.
    """
    square = autocorrelation * autocorrelation
    if autocorrelation <= 0.0 or n * square <= 1.0:
        return 0.0, 1.0
    weight = 1.0 - 1.0 / (n * square)
    phi = min(autocorrelation * weight, MAX_PHI)
    return phi, 1.0 / (1.0 + 2.0 * weight * (1.0 + phi) / (1.0 - phi))


def relative(before: float, after: float) -> float:
    """Return (after - before) / |before|; infinite if only the level before is zero."""
    if before == 0.0:
        return math.copysign(math.inf, after) if after else 0.0
    return (after - before) / abs(before)


@dataclass(frozen=True, slots=True)
class Stretch:
    """The positions of one segment of a series that was cut at its changes."""

    start: int
    stop: int
    number: int
    measured: SegmentedSeries


def segments(series: GroupedSeries, changes: list[int]) -> list[Stretch]:
    """Cut a series before each of the given positions, and return the segments."""
    measured = measure(series, changes)
    pairs = pairwise(measured.edges.tolist())
    return [Stretch(start, stop, i, measured) for i, (start, stop) in enumerate(pairs)]


def level(_: GroupedSeries, stretch: Stretch) -> SegmentLevel:
    """Return the level of a segment, in the unit of the caller's values."""
    return stretch.measured.levels[stretch.number]


def effect_interval(_: GroupedSeries, left: Stretch, right: Stretch) -> tuple[float, float]:
    """Return the confidence interval of the relative change to the next segment."""
    low, high = right.measured.effects[left.number]
    return low, high


def position_interval(left: Stretch, right: Stretch) -> tuple[int, int]:
    """Return the first and the last position at which a change may truly lie."""
    first, last = right.measured.places[left.number]
    return first, last
