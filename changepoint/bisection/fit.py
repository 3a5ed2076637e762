"""Compute how likely each revision is the culprit, and how informative another run would be.

The model: the logarithm of run i, at position p, is level(p) + offset(p) + machine(i) + noise. The
level is the good one before the culprit and the bad one from the culprit on. The offset is a
property of the build, normally distributed with the standard deviation :data:`BUILD_SPREAD`. The
machine follows a random walk over the runs in the order of measurement (the local level model:
Harvey, Forecasting, Structural Time Series Models and the Kalman Filter, 1989), which separates
drifts, steps and autocorrelation of the machine from differences between revisions. The noise has
heavy tails. Both levels are unknown and are integrated out, so that a split with few runs on one
side gains nothing from fitting them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from changepoint.jit import compiled
from changepoint.noise import NORMAL_MEDIAN
from changepoint.series import Floats, Ints

TAIL = 4.0
"""Degrees of freedom of the t distribution that weights the noise: a run z > 1 deviations from both
levels has the weight (TAIL + 1) / (TAIL + z^2) (Lange, Little and Taylor 1989), so that a spike
does not decide the search."""

PASSES = 2
"""Number of iterations that compute the weights of the runs from the fit, and the fit from the
weights."""

WANDERING = (0.0, 0.1, 0.2, 0.4)
"""Standard deviations of the machine's random walk per run, in deviations of a run. All are
considered, weighted by their likelihood. A walk of 0.2 drifts by about 1.5 deviations in 60 runs; a
walk faster than 0.4 counts as noise."""

STILL = 0.5
"""Prior probability that a machine does not drift (0 in ``WANDERING``); the other values of
``WANDERING`` share the rest."""

BUILD_SPREAD = 0.003
"""Relative deviation of the levels of builds with equal performance: another layout of the same
code changes its speed by some tenths of a percent (Mytkowicz et al. 2009), which no repetition
averages out."""

GUESS_WEIGHT = 4.0
"""Weight of the guessed noise in the estimate, as a number of repeated runs."""

NEAR = 12
"""Maximum distance of two repetitions of a position, in runs, at which their difference estimates
the noise: the machine has hardly drifted in between."""

CERTAIN = 4.0
"""Maximum assumed distance of the levels, in deviations of a run. A single run is therefore never
stronger evidence than a deviation that one run in three thousand reaches."""

CLIP = 2.0
"""Number of deviations at which a run is clipped before the correlation of the noise of two series
is computed."""

NODES = 16
"""Number of nodes of the numeric integration in :func:`information`, whose error is then below a
thousandth of a nat."""

SEPARATE = 8.0
"""Deviations beyond which two levels are distinguished with certainty."""


@dataclass(frozen=True, slots=True)
class CulpritFit:
    """How likely each possible place of the change is, according to all runs so far.

    Attributes:
        places: the measured positions, ascending, (k,); only the two ends until both of them are
            measured.
        loglik: log likelihood that the culprit lies above a place and up to the next one, (k - 1,).
        effects: change of the logarithm of every series at the likeliest place of the culprit,
            (s,).
        noise: standard deviation of the logarithm of one run, by series, (s,).
        share: factor by which correlated noise reduces the joint information of all series; 1 if
            their noise is not correlated.
    """

    places: Ints
    loglik: Floats
    effects: Floats
    noise: Floats
    share: float


def fit(
    positions: Ints,
    values: Floats,
    count: int,
    guess: float,
    build_spread: float,
    in_order: bool,
) -> CulpritFit:
    """Compute how likely each place of a change is, from the logarithms of the runs.

    ``values`` are (n, series), ``positions`` (n,).

    ``guess`` is the assumed noise before it is measured; ``in_order`` says whether the runs were
    made one after the other on one machine.
    """
    series = values.shape[1]
    if not {0, count - 1} <= set(positions.tolist()):
        # Before both ends are measured, all places are equally likely.
        ends = np.array([0, count - 1])
        return CulpritFit(ends, np.zeros(1), np.zeros(series), np.full(series, guess), 1.0)
    places, which = np.unique(positions, return_inverse=True)
    noise = np.maximum(_noise(which, values, guess), build_spread)
    share = _share(which, values, noise)
    loglik = np.zeros(len(places) - 1)
    effects = np.zeros((series, len(places) - 1))
    ends = np.array([np.median(values[positions == at], axis=0) for at in (0, count - 1)])
    seen = np.maximum(noise, np.abs(ends[1] - ends[0]) / CERTAIN)
    for j in range(series):
        of_series = _Series(
            which, values[:, j], ends[:, j], noise[j], seen[j], build_spread, in_order
        )
        likelihood, effects[j] = _of_series(of_series)
        loglik += likelihood * share
    return CulpritFit(places, loglik, effects[:, int(np.argmax(loglik))], seen, share)


def information(below: Floats, separation: Floats) -> Floats:
    """Return how much information about the culprit's place a run is expected to give, in nats.

    below: (n,) probability that the measured revision is bad. separation: (n,) distance of the good
    and the bad level, in standard deviations of the run. The result is the mutual information of a
    binary input and a channel with Gaussian noise (Cover and Thomas, Elements of Information
    Theory, 2006, chapter 8).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    q, d = below[:, None], np.minimum(separation, SEPARATE)[:, None]
    # The logarithm of the likelihood ratio is normal, with mean -d^2/2 or d^2/2 and deviation d.
    ratio_good, ratio_bad = d * nodes - d**2 / 2.0, d * nodes + d**2 / 2.0
    good = -np.log((1.0 - q) + q * np.exp(ratio_good))
    bad = ratio_bad - np.log((1.0 - q) + q * np.exp(ratio_bad))
    with np.errstate(invalid="ignore"):
        gain = ((1.0 - q) * good + q * bad) @ weights
    return np.asarray(np.maximum(gain, 0.0), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Series:
    """All runs of one metric, by position.

    which: for every run the index of its position among the measured ones, (n,). ends: rough levels
    of the first and the last measured position. noise: standard deviation of a run, with a lower
    bound that follows from :data:`CERTAIN`.
    """

    which: Ints
    values: Floats
    ends: Floats
    noise: float
    seen: float
    build_spread: float
    in_order: bool


def _of_series(runs: _Series) -> tuple[Floats, Floats]:
    """Return the likelihood and the effect of a change at each possible place, for one metric.

    Both are (k - 1,).
    """
    which, values, levels = runs.which, runs.values, runs.ends
    order = np.arange(len(which))
    walk = np.minimum(order[:, None], order[None, :]).astype(np.float64)
    ratios = WANDERING if runs.in_order else (0.0,)
    kinds = [(ratio * runs.noise) ** 2 * walk for ratio in ratios]
    restless = (1.0 - STILL) / (len(WANDERING) - 1)
    prior = np.log([restless if ratio else STILL for ratio in ratios])
    same = runs.build_spread**2 * (which[:, None] == which[None, :])
    of_place = (which[:, None] == np.arange(which.max() + 1)[None, :]).astype(np.float64)
    machine = np.zeros(len(which))
    likelihood, effects = np.empty((0, 0)), np.empty(0)
    for _ in range(PASSES):
        away = np.abs((values - machine)[:, None] - levels[None, :]).min(axis=1) / runs.seen
        weights = np.minimum((TAIL + 1.0) / (TAIL + away**2), 1.0)
        own = same + np.diag(runs.seen**2 / weights)
        splits = [_splits(own + walked, of_place, values) for walked in kinds]
        likelihood = np.array([each.loglik for each in splits]) + prior[:, None]
        kind, split = np.unravel_index(int(np.argmax(likelihood)), likelihood.shape)
        levels, effects = splits[kind].levels[:, split], np.diff(splits[kind].levels, axis=0)[0]
        rest = values - np.where(which <= split, *levels)
        # K V^-1 rest: the estimated course of the machine, given the levels.
        root = _root(own + kinds[kind])
        half = _solved(root, rest[:, None])
        # An upper triangular matrix, reversed, is lower triangular.
        whole = _solved(np.ascontiguousarray(root.T[::-1, ::-1]), half[::-1].copy())[::-1, 0]
        machine = kinds[kind] @ whole
    return np.asarray(logsumexp(likelihood, axis=0)), effects


@dataclass(frozen=True, slots=True)
class _Splits:
    """The likelihood of a change at each possible place, and the levels on both sides of it.

    Log likelihoods are (k - 1,), levels (2, k - 1).
    """

    loglik: Floats
    levels: Floats


def _splits(covariance: Floats, of_place: Floats, values: Floats) -> _Splits:
    """Return the likelihood of a change at each place, with the unknown levels integrated out.

    covariance: covariance of the runs, (n, n). of_place: 1 where a run measured a position, (n, k).
    """
    root = _root(covariance)
    white = _solved(root, np.column_stack([of_place, values]))
    places, y = white[:, :-1], white[:, -1]
    bad = np.cumsum(places[:, ::-1], axis=1)[:, ::-1][:, 1:]
    good = np.cumsum(places, axis=1)[:, :-1]
    gg, gb, bb = (good * good).sum(axis=0), (good * bad).sum(axis=0), (bad * bad).sum(axis=0)
    gy, by = good.T @ y, bad.T @ y
    determinant = gg * bb - gb**2
    levels = np.array([bb * gy - gb * by, gg * by - gb * gy]) / determinant
    explained = levels[0] * gy + levels[1] * by
    loglik = 0.5 * (explained - y @ y - np.log(determinant)) - np.log(np.diag(root)).sum()
    return _Splits(loglik, levels)


@compiled
def _root(covariance: Floats) -> Floats:
    """Return the Cholesky factor of a small matrix.

    The inner loop runs over adjacent memory, so the compiler can vectorise it.
    """
    n = len(covariance)
    upper = covariance.copy()
    for i in range(n):
        for k in range(i):
            factor = upper[k, i]
            for j in range(i, n):
                upper[i, j] -= factor * upper[k, j]
        pivot = math.sqrt(upper[i, i])
        for j in range(i, n):
            upper[i, j] /= pivot
    root = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            root[i, j] = upper[j, i]
    return root


@compiled
def _solved(root: Floats, columns: Floats) -> Floats:
    """Solve a system of equations with a lower triangular matrix."""
    n, m = columns.shape
    solved = columns.copy()
    for i in range(n):
        for k in range(i):
            factor = root[i, k]
            for c in range(m):
                solved[i, c] -= factor * solved[k, c]
        for c in range(m):
            solved[i, c] /= root[i, i]
    return solved


def _noise(which: Ints, values: Floats, guess: float) -> Floats:
    """Return the noise of one run of each metric, from repeated runs.

    The estimate is the median difference of two runs of a position (Bickel and Lehmann 1979), in
    which a spike has no more weight than any other run; positions are weighted by their
    repetitions.
    """
    order = np.arange(len(which))
    first, second = np.triu_indices(len(which), 1)
    pairs = (which[first] == which[second]) & (order[second] - order[first] <= NEAR)
    first, second = first[pairs], second[pairs]
    series = values.shape[1]
    if not len(first):
        return np.full(series, guess)
    # A position of n runs has n - 1 degrees of freedom, shared by its pairs.
    runs, shared = np.bincount(which), np.bincount(which[first], minlength=which.max() + 1)
    weight = (runs - 1.0)[which[first]] / shared[which[first]]
    freedom = weight.sum()
    apart = np.abs(values[first] - values[second])
    medians = np.array([_weighted_median(apart[:, j], weight) for j in range(series)])
    measured = medians / (math.sqrt(2.0) * NORMAL_MEDIAN)
    squares = GUESS_WEIGHT * guess**2 + freedom * measured**2
    return np.asarray(np.sqrt(squares / (GUESS_WEIGHT + freedom)), dtype=np.float64)


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(below, below[-1] / 2.0)]])


def _share(which: Ints, values: Floats, noise: Floats) -> float:
    """Return the factor by which correlated noise reduces the joint information of all metrics.

    The factor follows from the design effect 1 + (s - 1) rho (Kish 1965), with the mean squared
    correlation between the series within positions, reduced by its expectation under independence.
    """
    series = values.shape[1]
    repeated = [values[which == at] for at in np.flatnonzero(np.bincount(which) > 1)]
    freedom = sum(len(each) - 1 for each in repeated)
    if series == 1 or freedom < series:
        return 1.0
    # Clipped: two spikes in one run are no correlation.
    apart = np.concatenate([(each - np.median(each, axis=0)) / noise for each in repeated])
    apart = np.clip(apart, -CLIP, CLIP)
    products = apart.T @ apart
    scale = np.sqrt(np.maximum(np.diag(products), np.finfo(float).tiny))
    correlations = (products / scale[:, None] / scale[None, :])[np.triu_indices(series, 1)]
    square = max(float(np.mean(correlations**2)) - 1.0 / freedom, 0.0)
    return float(1.0 / (1.0 + (series - 1) * math.sqrt(square)))
