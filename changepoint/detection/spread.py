"""Changes of spread: where the noise of a series becomes larger or smaller.

The loudness of a position is the normal score of the distance of its value from its neighbours or,
with replicates, of their distances from each other (dispersion.py). The search for changes of level
runs on these scores. docs/internals/spread.md has the calibration, the error rates and the weak
points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from changepoint.detection import calibration
from changepoint.detection.between_positions import is_replicated
from changepoint.detection.default import LADDER, changes_of_scores
from changepoint.detection.dispersion import (
    deviation_of,
    innovations,
    mean_deviation,
    neighbour_medians,
    replicate_deviations,
    scores,
    settled,
)
from changepoint.detection.edivisive import NIGHTS_PER_LADDER
from changepoint.detection.spread_evidence import dispersion, location, standing
from changepoint.series import RESOLUTION, Floats, GroupedSeries, Ints

SHARE = 0.1
"""The share of the alarm budget for changes of spread: small enough that the search for changes of
level finds the same steps with the rest of the budget."""

SKEW = 1.06
"""Factor by which a change of spread needs more strength than a change of level, at the same alarm
rate: scores have a longer upper tail than normal values."""

SMALLEST_RATIO = 1.5
"""Smallest ratio of the larger to the smaller spread that is reported: a series of 200 positions
can hardly show less, and a smaller change is not worth a person's time."""

LEAST = 6
"""Minimum positions of a side without replicates; fewer may be spikes."""

LEAST_REPLICATED = 3
"""Minimum positions of a side of a long replicated series; fewer may be a bad night."""

LEAST_DEVIATIONS = 4
"""Minimum deviations of a side of a ladder: two positions of three replicates, or one of five."""

SPARED = 3
"""Number of largest values of the noisier side without which a change of spread must still show:
three adjacent spikes are no change of spread."""

SPARED_REPLICATED = 1
"""The same as ``SPARED`` for a replicated series, in positions, and for a ladder, in deviations."""

NORMAL_95 = float(ndtri(0.975))
"""Two-sided 95 % quantile of the normal distribution."""


@dataclass(frozen=True, slots=True)
class SpreadChange:
    """A change of spread between the positions ``at - 1`` and ``at`` of a series.

    first, last: outermost positions that may be the true ``at`` at 95 % confidence. ratio: spread
    after over spread before, infinite if there was none before and 0 if there is none after.
    ratio_interval: its 95 % confidence interval. pvalue: p-value of the best split, corrected for
    the choice of the place.
    """

    at: int
    first: int
    last: int
    ratio: float
    ratio_interval: tuple[float, float]
    pvalue: float


@dataclass(frozen=True, slots=True)
class _View:
    """The deviations of a series in one unit of measurement, and their scores of noisiness."""

    deviations: Floats
    loudness: Floats


def find(series: GroupedSeries, ats: list[int], alarms_per_1000: float) -> tuple[SpreadChange, ...]:
    """Find the changes of the spread (noise) of a series, in order of their positions.

    ats: ascending positions where its level changes. alarms_per_1000: the caller's whole budget, of
    which ``SHARE`` is spent here. Noise may be proportional to the level or not: where the level
    changes, a change of spread must show both in the unit of the values and relative to their
    level.
    """
    if is_replicated(np.diff(series.offsets)):
        deviations, starts, levels = _between_replicates(series)
        if len(deviations) < 2 * LEAST_DEVIATIONS:
            return ()
        views = _views(deviations, levels, len(ats) > 0)
        if len(starts) - 1 <= LADDER:
            probability = SHARE * NIGHTS_PER_LADDER * alarms_per_1000 / 1000.0
            return _ladder(list(views), starts, _measured(series), probability)
        averaged = (_averaged(view, starts) for view in views)
        return _search(
            averaged, _measured(series), LEAST_REPLICATED, SPARED_REPLICATED, alarms_per_1000
        )
    if series.positions < 2 * LEAST:
        return ()
    deviations, levels = _from_neighbours(series, ats)
    if len(deviations) < 2 * LEAST:
        return ()
    places = np.arange(len(deviations))
    return _search(_views(deviations, levels, len(ats) > 0), places, LEAST, SPARED, alarms_per_1000)


def _from_neighbours(series: GroupedSeries, ats: list[int]) -> tuple[Floats, Floats]:
    """Return the deviation of each position from its neighbours, and its level.

    Of positions with several values the first is used: a mean would have less noise than the other
    positions.
    """
    values = series.scaled[series.offsets[:-1]]
    edges = np.array([0, *ats, len(values)], dtype=np.int64)
    middles = neighbour_medians(values, edges)
    scale = deviation_of(values, middles)
    kept = settled(values, middles, scale)
    if kept < len(values):
        values, edges = values[:kept], np.minimum(edges, kept)
        middles = neighbour_medians(values, edges)
        scale = deviation_of(values, middles)
    return innovations(values, middles, edges, scale), series.origin / series.unit + middles


def _measured(series: GroupedSeries) -> Ints:
    """Return the positions that have repeated values."""
    return np.flatnonzero(np.diff(series.offsets) > 1)


def _between_replicates(series: GroupedSeries) -> tuple[Floats, Ints, Floats]:
    """Return the deviations between repeated values, by position, and the levels."""
    deviations, bounds, middles = replicate_deviations(series.scaled, series.offsets)
    measured = _measured(series)
    starts = np.append(bounds[measured], len(deviations))
    levels = series.origin / series.unit + middles[measured]
    return deviations, starts, np.repeat(levels, np.diff(starts))


def _views(deviations: Floats, levels: Floats, stepped: bool) -> Iterator[_View]:
    """Return deviations in the unit of the values and, if the level changes, relative to it.

    There is no relative view if levels have both signs or are near zero.
    """
    yield _View(deviations, scores(deviations))
    sizes = np.abs(levels)
    if stepped and np.all(levels * levels[0] > 0.0) and np.min(sizes) > RESOLUTION * np.max(sizes):
        relative = deviations * (np.min(sizes) / sizes)
        yield _View(relative, scores(relative))


def _averaged(view: _View, starts: Ints) -> _View:
    """Return a view with one element per position: its mean deviation and its mean score."""
    counts = np.diff(starts)
    return _View(
        np.add.reduceat(view.deviations, starts[:-1]) / counts,
        np.add.reduceat(view.loudness, starts[:-1]) / counts,
    )


def _search(
    views: Iterator[_View], places: Ints, least: int, spared: int, alarms_per_1000: float
) -> tuple[SpreadChange, ...]:
    """Search the noisiness of a series for changes, as the default method searches its level."""
    n = len(places)
    if n < 2 * least:
        return ()
    limit = SKEW * calibration.limit(n, SHARE * alarms_per_1000)
    view = next(views)
    loudness = view.loudness
    splits, strengths = changes_of_scores(loudness, limit, RESOLUTION, least)
    # The second view is computed only when a change must be shown in it, too.
    every = [view, *views] if len(splits) else []
    edges = [0, *(int(at) for at in splits), n]
    found = [float(strength) for strength in strengths]
    while found:
        parts = list(zip(edges, edges[1:], edges[2:], strict=False))
        proven = [min(h, _strength(every, p, spared)) for h, p in zip(found, parts, strict=True)]
        weakest = int(np.argmin(proven))
        if proven[weakest] >= limit:
            pvalues = [calibration.pvalue(n, h / SKEW) for h in proven]
            ends = [places[[p[1], *location(loudness, np.arange(n + 1), p)]] for p in parts]
            described = zip(parts, ends, pvalues, strict=True)
            return tuple(_change(view, *of) for of in described)
        # Its neighbours have longer sides without it.
        del found[weakest], edges[weakest + 1]
    return ()


def _ladder(
    views: list[_View], starts: Ints, places: Ints, probability: float
) -> tuple[SpreadChange, ...]:
    """Find changes of spread in a short series, the strongest first, then on its two sides.

    P-values are corrected for the number of possible splits, one between any two neighbouring
    positions (Bonferroni).
    """
    splits = len(starts) - 2
    found = []
    stretches = [(0, len(starts) - 1)]
    while stretches:
        first, stop = stretches.pop()
        strength, at = 0.0, -1
        for tau in range(first + 1, stop):
            part = (int(starts[first]), int(starts[tau]), int(starts[stop]))
            if min(part[1] - part[0], part[2] - part[1]) < LEAST_DEVIATIONS:
                continue
            factor = max(dispersion(v.loudness, starts[first : stop + 1], part[1]) for v in views)
            now = _strength(views, part, SPARED_REPLICATED, factor)
            if now > strength:
                strength, at = now, tau
        pvalue = min(2.0 * float(ndtr(-math.sqrt(strength))) * splits, 1.0)
        if at < 0 or pvalue > probability:
            continue
        part = (int(starts[first]), int(starts[at]), int(starts[stop]))
        ends = location(views[0].loudness, starts, part)
        own = [at, *np.searchsorted(starts, ends)]
        found.append(_change(views[0], part, places[own], pvalue))
        stretches += [(first, at), (at, stop)]
    return tuple(sorted(found, key=lambda change: change.at))


def _strength(
    views: list[_View], part: tuple[int, int, int], spared: int, factor: float = 1.0
) -> float:
    """Return the evidence for a change of spread, in the view (unit) in which it is weakest.

    0 if the spreads differ by less than ``SMALLEST_RATIO`` in any view, or in different directions.
    """
    start, at, stop = part
    least = math.inf
    louder = set()
    for view in views:
        before = mean_deviation(view.deviations[start:at])[0]
        after = mean_deviation(view.deviations[at:stop])[0]
        louder.add(before < after)
        if max(before, after) < SMALLEST_RATIO * min(before, after) or len(louder) > 1:
            return 0.0
        least = min(least, standing(view.loudness[start:stop], at - start, spared, factor))
    return least


def _change(view: _View, part: tuple[int, int, int], places: Ints, pvalue: float) -> SpreadChange:
    """Describe a change of spread: its positions, its size and its p-value."""
    start, at, stop = part
    before, doubt_before = mean_deviation(view.deviations[start:at])
    after, doubt_after = mean_deviation(view.deviations[at:stop])
    ratio = after / before if before > 0.0 else math.inf
    reach = math.exp(NORMAL_95 * math.hypot(doubt_before, doubt_after))
    position, first, last = (int(place) for place in places)
    return SpreadChange(position, first, last, ratio, (ratio / reach, ratio * reach), pvalue)
