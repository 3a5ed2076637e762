"""Changes in a ladder (a short series of single values), with noise learned from other series.

Ten releases, each measured once, are too few values to estimate the noise and find changes as well.
But the same runs measured, for example, forty steps of each release. Their noise is pooled: the
variance of a series is moderated by that of all (Smyth, Statistical Applications in Genetics and
Molecular Biology 3, 2004), and its scale comes from differences of neighbours, most of which are
noise even in a series with several changes.

The best segmentation of a series is then found by dynamic programming (Jackson et al., IEEE Signal
Processing Letters 12, 2005), and each of its changes must pass Student's t. Noise with two modes
may pass this test, too. A second test therefore requires that the order of the values matters: the
sum of the differences of neighbours is compared with that of the same values in random order. Noise
of any shape fails this test, as long as its values are exchangeable.

Values are logarithms, because noise is a share of the level, and levels of a ladder may differ by a
factor of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.special import comb, polygamma, stdtr, stdtrit

from changepoint.detection import power
from changepoint.detection.edivisive import NIGHTS_PER_LADDER, PERMUTATION_LIMIT
from changepoint.detection.energy import MIN_VALUES
from changepoint.detection.method import FoundChange, MethodResult, Request, SharedNoise
from changepoint.detection.scan import LEAST, mean_factor
from changepoint.jit import compiled
from changepoint.noise import NORMAL_MEDIAN, quantum
from changepoint.seed import own_seed, shuffle
from changepoint.series import RESOLUTION, Floats, GroupedSeries, Ints

LONGEST = 30
"""Maximum number of positions of a ladder. The scan of a longer series estimates its noise from
that series alone."""

EFFICIENCY = 0.33
"""Degrees of freedom of a difference of neighbours, when the variance comes from the median of
their magnitudes. Simulated in normal noise: .41 at 10 positions, .38 at 14, .34 at 30; the value is
below all of these, so that the noise of short ladders does not seem too certain."""

MOST_DEGREES = 40.0
"""Maximum degrees of freedom of the pooled noise. Even if the series of a table look equally noisy,
their noise is not exactly equal."""

LENGTHS = (10.0, 12.0, 14.0, 20.0, 30.0)
"""Numbers of positions for which ``ORDERED`` was simulated."""

ORDERED = (8.8, 7.3, 7.0, 6.6, 6.8)
"""Smallest steps that the test of the order finds in four of five series with normal noise, for
each of ``LENGTHS``. The unit is the standard error of the difference of the levels. The steps were
simulated in the middle and before the last five positions."""

ORDERS = 4_999
"""Number of random orders. With these, chance changes a p-value at the limit of .01 by a
seventh."""


def shared_noise(rows: Sequence[Sequence[float | None] | Floats]) -> list[SharedNoise | None]:
    """Estimate the noise of each series from all series, for ``noise`` of :func:`detect`.

    rows: the values of series that the same runs measured in one metric, single values in order;
    None and nan are missing. Lengths may differ. The result is None for a series with a value that
    is not positive, which does not contribute to the noise of others.
    """
    logs = [_logarithms(np.array(row, dtype=np.float64)) for row in rows]
    known = [row for row in logs if row is not None and len(row) > MIN_VALUES]
    if not known:
        return [None] * len(rows)
    scales = np.array([_scale(row) for row in known])
    degrees = np.array([_degrees(row) for row in known])
    pooled = float(np.median(scales))
    prior = _prior_degrees(scales, degrees)
    return [None if row is None else _moderated(row, pooled, prior) for row in logs]


def is_ladder(series: GroupedSeries) -> bool:
    """Whether a series is short and all its values are positive."""
    return series.positions <= LONGEST and bool(np.all(series.measured > 0.0))


def find(series: GroupedSeries, request: Request, noise: SharedNoise) -> MethodResult:
    """Find the changes of a ladder in order. Values at the same position are averaged first."""
    logs = position_values(series)
    probability = probability_of(request)
    needs = partial(needed, len(logs), probability, noise.degrees)
    found = _changes(logs, noise, probability, request)
    return MethodResult(tuple(found), probability, needs, noise)


def position_values(series: GroupedSeries) -> Floats:
    """Return one value for each position, as a logarithm if all values are positive.

    Returns (positions,).
    """
    positive = bool(np.all(series.measured > 0.0))
    values = np.log(series.measured) if positive else series.scaled
    means = np.add.reduceat(values, series.offsets[:-1]) / np.diff(series.offsets)
    return np.asarray(means, dtype=np.float64)


def probability_of(request: Request) -> float:
    """Return the probability with which one search of a ladder may find a false change."""
    return request.alarms_per_1000 / 1000.0 * NIGHTS_PER_LADDER


def _changes(
    logs: Floats, noise: SharedNoise, probability: float, request: Request
) -> list[FoundChange]:
    if len(logs) < 2 * MIN_VALUES:
        return []
    scale = max(noise.scale, floor_of(logs))
    phi = request.autocorrelation or 0.0
    looks = len(logs) - 1.0
    penalty = float(stdtrit(noise.degrees, probability / 2.0 / looks)) ** 2
    edges = _segmented(logs, penalty * scale * scale)
    pvalues = pvalues_of(logs, edges, scale, noise.degrees, phi)
    while len(pvalues) and np.max(pvalues) > probability:
        edges = np.delete(edges, int(np.argmax(pvalues)) + 1)
        pvalues = pvalues_of(logs, edges, scale, noise.degrees, phi)
    return ordered(logs, edges, pvalues, request.seed)


def ordered(values: Floats, edges: Ints, pvalues: Floats, seed: int) -> list[FoundChange]:
    """Return the changes of a ladder, or none if the order of its values may be random."""
    if not len(pvalues):
        return []
    order = order_pvalue(values, ORDERS, own_seed(seed, values))
    if order > PERMUTATION_LIMIT:
        return []
    found = zip(edges[1:-1].tolist(), pvalues.tolist(), strict=True)
    return [FoundChange(at, max(pvalue, order)) for at, pvalue in found]


def _logarithms(values: Floats) -> Floats | None:
    """Return the logarithms of the measured values, or None if a value is not positive."""
    measured = values[~np.isnan(values)]
    return np.log(measured) if np.all(measured > 0.0) else None


def _scale(logs: Floats) -> float:
    """Return a robust standard deviation of the values of a ladder."""
    differences = np.abs(np.diff(logs))
    return max(float(np.median(differences)) / NORMAL_MEDIAN / math.sqrt(2.0), floor_of(logs))


def floor_of(logs: Floats) -> float:
    """Return half of the quantisation step of the values, or 0 if no value repeats."""
    return max(0.5 * quantum(logs, np.array([0, len(logs)]), RESOLUTION), RESOLUTION)


def _degrees(logs: Floats) -> float:
    return EFFICIENCY * (len(logs) - 1.0)


def _moderated(logs: Floats, pooled: float, prior: float) -> SharedNoise:
    if len(logs) <= MIN_VALUES:
        return SharedNoise(pooled, max(prior, 1.0))
    own = _degrees(logs)
    square = (prior * pooled**2 + own * _scale(logs) ** 2) / (prior + own)
    return SharedNoise(math.sqrt(square), prior + own)


def _prior_degrees(scales: Floats, degrees: Floats) -> float:
    """Return the degrees of freedom of the pooled noise as a prior for the noise of one series.

    If all series had equal noise, the logarithms of their estimated variances would have the
    variance trigamma(degrees / 2). A larger variance means that the noise differs between series,
    which lowers the result. It is at most the degrees of freedom of all other series together.
    """
    low, high = np.percentile(2.0 * np.log(scales), (25.0, 75.0))
    dispersion = ((high - low) / (2.0 * NORMAL_MEDIAN)) ** 2
    sampling = float(np.mean(polygamma(1, degrees / 2.0)))
    least = float(polygamma(1, MOST_DEGREES / 2.0))
    prior = 2.0 * _inverse_trigamma(max(dispersion - sampling, least))
    others = float(np.sum(degrees) - np.mean(degrees))
    return min(prior, others, MOST_DEGREES)


def _inverse_trigamma(value: float) -> float:
    """Return the x whose trigamma is ``value``, by Newton's method (Smyth 2004)."""
    x = 0.5 + 1.0 / value
    for _ in range(20):
        trigamma = float(polygamma(1, x))
        x += trigamma * (1.0 - trigamma / value) / float(polygamma(2, x))
    return x


@compiled
def _segmented(values: Floats, penalty: float) -> Ints:
    """Cut a ladder into segments so that squared error plus a penalty per segment is least.

    values: (n,), n >= MIN_VALUES. Edges: (segments + 1,), from 0 to n.
    """
    n = len(values)
    sums = np.concatenate((np.zeros(1), np.cumsum(values)))
    squares = np.concatenate((np.zeros(1), np.cumsum(values * values)))
    least = np.full(n + 1, np.inf)
    least[0] = 0.0
    start = np.zeros(n + 1, np.int64)
    for stop in range(MIN_VALUES, n + 1):
        for a in range(stop - MIN_VALUES + 1):
            total = sums[stop] - sums[a]
            error = squares[stop] - squares[a] - total * total / (stop - a)
            cost = least[a] + max(error, 0.0) + penalty
            if cost < least[stop]:
                least[stop], start[stop] = cost, a
    edges = np.empty(n + 1, np.int64)
    count = 0
    at = n
    while at > 0:
        edges[count] = at
        at = start[at]
        count += 1
    edges[count] = 0
    return edges[: count + 1][::-1].copy()


def pvalues_of(
    values: Floats, edges: Ints, scale: float, degrees: float, phi: float = 0.0
) -> Floats:
    """The two-sided p-value of each change, corrected for the choice of its place.

    Returns (segments - 1,).

    phi: known autocorrelation.
    """
    counts = np.diff(edges).astype(np.float64)
    means = np.add.reduceat(values, edges[:-1]) / counts
    squares = np.array([mean_factor(phi, count) for count in counts]) / counts
    errors = scale * np.sqrt(squares[:-1] + squares[1:])
    single = 2.0 * stdtr(degrees, -np.abs(np.diff(means)) / errors)
    return np.asarray(np.minimum(single * (len(values) - 1.0), 1.0), dtype=np.float64)


@compiled
def order_pvalue(values: Floats, orders: int, seed: int) -> float:
    """Return the share of random orders with neighbours at least as alike as in the observed order.

    values: (n,). The observed order counts as one of them.
    """
    shuffled = values.copy()
    observed = np.sum(np.abs(np.diff(values))) * (1.0 + RESOLUTION)
    state = np.uint64(seed)
    close = 0
    for _ in range(orders):
        state = shuffle(shuffled, state)
        total = 0.0
        for i in range(1, len(shuffled)):
            total += abs(shuffled[i] - shuffled[i - 1])
        close += total <= observed
    return (close + 1) / (orders + 1)


def needed(positions: int, probability: float, degrees: float, _: float, behind: int) -> float:
    """Return the smallest step that can be detected in a ladder of this length."""
    # Three values are too few to find as often as more of them.
    if min(behind, positions - behind) <= LEAST:
        return math.inf
    if 2.0 / float(comb(positions, behind)) > PERMUTATION_LIMIT:
        return math.inf
    limit = float(stdtrit(degrees, probability / 2.0 / (positions - 1.0))) ** 2
    least = float(np.interp(positions, LENGTHS, ORDERED))
    return max(power.by_deviation(limit, degrees), least)
