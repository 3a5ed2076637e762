"""The default detection method: a robust scan for changes of level with a set false-alarm rate.

The compiled search of segment.py runs on one value per position, the mean of its replicates after
clipping spikes. Short ladders have too few positions for it: those with replicates are left to the
method "edivisive", which uses the noise between replicates, those of single values to ladder.py, if
the noise is known from other series, and otherwise to lone_ladder.py.

The search of a growing series (incremental.py) ends with the same compiled function,
:func:`searched`, so its results are identical to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from changepoint.detection import calibration, edivisive, ladder, lone_ladder, newest, power
from changepoint.detection.between_positions import (
    DOUBTED_DEGREES,
    PRIOR_DEGREES,
    PRIOR_RATIO,
    Replicates,
    is_replicated,
)
from changepoint.detection.energy import MIN_VALUES
from changepoint.detection.inner_intervals import Inner, inner_of
from changepoint.detection.interval_cache import Memo, cached_interval, memo_of
from changepoint.detection.method import FoundChange, MethodResult, Request
from changepoint.detection.modes import two_modes
from changepoint.detection.scan import (
    LEAST,
    TAIL,
    Sizes,
    Sums,
    clipped_share,
    rough_scale,
    set_clipped,
    sums_of,
)
from changepoint.detection.segment import linked, search
from changepoint.detection.segment_modes import search_modes
from changepoint.jit import compiled
from changepoint.series import RESOLUTION, Floats, GroupedSeries, Ints

LADDER = 20
"""Maximum positions of a ladder (a series that is measured at once) whose noise is not known from
other series."""

LEEWAY = 2.0
"""Factor of the clipping limit for means of replicates, relative to that for single values: spikes
among the replicates have already been clipped."""

REPEATS = 0.5
"""Share of equal neighbours from which values count as quantised: the deviation is then at least
half the smallest difference."""

Known = tuple[float, float, float, float, float]
"""What is known of the noise besides the series itself: the fields ``prior``, ``sure``,
``doubted``, ``phi`` and ``trust`` of :class:`scan.Sizes`."""

UNKNOWN: Known = (0.0, 0.0, 0.0, -1.0, 1.0)
"""Nothing is known of the noise: the series has no replicates, and its autocorrelation is
estimated."""


def find(series: GroupedSeries, request: Request) -> MethodResult:
    """Find the changes of a series, in order. Only ladders use the seed."""
    replicated = is_replicated(np.diff(series.offsets))
    if replicated:
        return _replicated(series, request)
    if request.noise is not None and ladder.is_ladder(series):
        return ladder.find(series, request, request.noise)
    if lone_ladder.FEWEST <= series.positions <= LADDER:
        return lone_ladder.find(series, request)
    limit = calibration.limit(series.positions, request.alarms_per_1000)
    if series.positions < 2 * LEAST:
        return outcome(series.positions, limit, ())
    values = position_values(series)
    floor = floor_of(values, equal_neighbours(values))
    known = (*UNKNOWN[:3], _phi(request), 1.0)
    places, strengths = changes(values, limit, floor, LEAST, 1.0, known)
    found = zip(places.tolist(), strengths.tolist(), strict=True)
    return outcome(series.positions, limit, found, known)


def _replicated(series: GroupedSeries, request: Request) -> MethodResult:
    """Find the changes of a series with replicates, and test its newest positions separately."""
    replicates = Replicates.of(series.clipped, series.offsets)
    first_new = series.positions - newest.NEWEST
    if series.positions <= LADDER:
        result = edivisive.find(series, request)
        if any(one.at >= first_new for one in result.found):
            return result
    else:
        limit = calibration.limit(series.positions, request.alarms_per_1000 * (1.0 - newest.SHARE))
        values = replicates.means
        floor = floor_of(values, equal_neighbours(values))
        # A ladder does not guard against autocorrelation and ramps: these guards count gradually.
        trust = min(series.positions / LADDER - 1.0, 1.0)
        known = (*_prior(replicates), _phi(request), trust)
        places, strengths = changes(values, limit, floor, MIN_VALUES, LEEWAY, known)
        found = zip(places.tolist(), strengths.tolist(), strict=True)
        result = outcome(series.positions, limit, found, known)
    # The scan places a step of the newest night some nights too early, if it finds one.
    older = tuple(one for one in result.found if one.at < first_new)
    probability = newest.SHARE * request.alarms_per_1000 / 1000.0
    fresh = newest.find(series, replicates, [one.at for one in older], probability)
    return result if fresh is None else replace(result, found=(*older, fresh))


def _prior(replicates: Replicates) -> tuple[float, float, float]:
    """Return ``prior``, ``sure`` and ``doubted`` of :class:`scan.Sizes`, from the replicates.

    The position test of a ladder uses the same estimate, so the noise does not jump when a line
    grows beyond ``LADDER`` positions.
    """
    within, degrees = replicates.within()
    size = float(np.mean(replicates.counts))
    prior = within * (1.0 / size + PRIOR_RATIO)
    sure = 1.0 / (1.0 / PRIOR_DEGREES + 1.0 / degrees)
    doubted = 1.0 / (1.0 / DOUBTED_DEGREES + 1.0 / degrees)
    return prior, sure, doubted


def _phi(request: Request) -> float:
    return -1.0 if request.autocorrelation is None else request.autocorrelation


def outcome(
    positions: int, limit: float, changes: Iterable[tuple[int, float]], known: Known = UNKNOWN
) -> MethodResult:
    """Convert changes, as (place, strength), and the limit of their search to a result."""
    found = (FoundChange(at, calibration.pvalue(positions, strength)) for at, strength in changes)
    _, sure, _, phi, trust = known
    # Nothing is promised for shorter sides of single values: their guards need more than that.
    noise, least = power.SearchNoise(sure, phi, trust), MIN_VALUES if sure else power.FRESH
    needs = partial(power.by_scan, positions, limit, noise, least)
    return MethodResult(tuple(found), calibration.pvalue(positions, limit), needs)


def position_values(series: GroupedSeries) -> Floats:
    """Return one value for each position: the mean of its replicates after clipping.

    Returns (positions,).
    """
    if series.positions == len(series.scaled):
        return series.scaled
    sums = np.add.reduceat(series.clipped, series.offsets[:-1])
    return np.asarray(sums / np.diff(series.offsets), dtype=np.float64)


@compiled
def equal_neighbours(values: Floats) -> int:
    """Return how many values equal the value before them."""
    equal = 0
    for i in range(1, len(values)):
        equal += abs(values[i] - values[i - 1]) <= RESOLUTION
    return equal


@compiled
def floor_of(values: Floats, equal: int) -> float:
    """Return the smallest standard deviation to assume: half of the values' quantisation step.

    values: (n,), n >= 2. equal: number of values equal to the previous one.
    """
    if equal < REPEATS * (len(values) - 1):
        return RESOLUTION
    ordered = np.sort(values)
    smallest = np.inf
    for i in range(1, len(ordered)):
        gap = ordered[i] - ordered[i - 1]
        if RESOLUTION < gap < smallest:
            smallest = gap
    return max(0.5 * smallest, RESOLUTION) if smallest < np.inf else RESOLUTION


@compiled
def changes(
    values: Floats, limit: float, floor: float, least: int, leeway: float, known: Known
) -> tuple[Ints, Floats]:
    """Find all changes of a series with one value per position: their places and strengths.

    values: (n,), n >= 2. limit: least strength of a change. floor: lower bound of the deviation.
    least: minimum values of a side. leeway: factor of the clipping limit. known: what else is known
    of the noise.
    """
    y, sums, scale = prepared(values, floor, leeway)
    memo = memo_of(y, sums)
    inner = inner_of(sums, memo[2], least)
    share = clipped_share(values, y, scale * leeway)
    return searched(values, y, sums, (scale, share), known, limit, floor, least, memo, inner)


@compiled
def changes_of_scores(
    scores: Floats, limit: float, floor: float, least: int
) -> tuple[Ints, Floats]:
    """Find changes, as :func:`changes` does, in values that are already normal scores.

    Nothing is clipped, the noise has one mode, and the caller guards against heavy tails.
    """
    sums = sums_of(scores)
    memo = memo_of(scores, sums)
    inner = inner_of(sums, memo[2], least)
    unknown = Sizes(0.0, floor * floor, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 1.0)
    sizes = linked(scores, sums, unknown, limit, least, memo)
    return search(scores, scores, sums, np.inf, limit, sizes, least, memo, inner)


@compiled
def prepared(values: Floats, floor: float, leeway: float) -> tuple[Floats, Sums, float]:
    """Return the values with outliers clipped, their running sums, and a robust deviation.

    Clipped values are (n,).
    """
    n = len(values)
    scale = max(rough_scale(values), floor)
    y = np.empty(n)
    set_clipped(values, scale * leeway, 0, y)
    return y, sums_of(y), scale


@compiled
def searched(
    values: Floats,
    y: Floats,
    sums: Sums,
    noise: tuple[float, float],
    known: Known,
    limit: float,
    floor: float,
    least: int,
    memo: Memo,
    inner: Inner,
) -> tuple[Ints, Floats]:
    """Find changes, as :func:`changes` does, in values that :func:`prepared` has clipped.

    y: (n,) clipped values. sums: their running sums. noise: robust deviation of the values, and
    share of clipped ones. known: what else is known of the noise. memo: cached stretches. inner:
    inner intervals.
    """
    scale, share = noise
    prior, sure, doubted, phi, trust = known
    sizes = Sizes(share, floor * floor, TAIL, prior, sure, doubted, phi, 0.0, trust)
    sizes = linked(y, sums, sizes, limit, least, memo)
    places, strengths = search(values, y, sums, scale, limit, sizes, least, memo, inner)
    edges = np.concatenate((np.zeros(1, np.int64), places, np.array([len(y)])))
    finer, rest = _with_next(y, sums, edges, least, memo)
    modes = two_modes(y, sums, finer, rest)
    if modes[2] > 0.0:
        return search_modes(y, sums, modes, limit, sizes, least, inner)
    return places, strengths


@compiled
def _with_next(y: Floats, sums: Sums, edges: Ints, least: int, memo: Memo) -> tuple[Ints, float]:
    """Return the edges with the best rejected split added, and the remaining squared error.

    The rejected split may be a change; if it were left out, the noise would then be overestimated.
    """
    best = 0.0
    at = -1
    segment = -1
    left = 0.0
    for s in range(len(edges) - 1):
        gain, place, rest, _, _ = cached_interval(y, sums, edges[s], edges[s + 1], least, memo)
        left += rest
        if gain > best:
            best, at, segment = gain, place, s
    if at < 0:
        return edges, left
    finer = np.concatenate((edges[: segment + 1], np.array([at]), edges[segment + 1 :]))
    return finer, max(left - best, 0.0)
