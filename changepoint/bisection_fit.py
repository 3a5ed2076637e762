"""What runs of some positions say of the culprit's place, and what another run would say.

The model: a run of position p has the logarithm level(p) + offset(p) + noise. The level is the
good one before the culprit and the bad one from it on; the offset is that of the build, normal
with the deviation :data:`BUILD_SPREAD`; the noise has heavy tails. Both levels are unknown and
are integrated out, so that a split with few runs on one side gains nothing from fitting them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from changepoint.series import Floats

TAIL = 4.0
"""Degrees of freedom of the t likelihood of a run: a spike must not decide the search."""

CORE = 0.9
"""Scale of that likelihood in standard deviations of normal noise. For TAIL degrees, with .9 its
curvature and the variance of its slope are equal (1.004) under normal noise, so that a posterior
of .99 is one; it loses 9 % of the information of normal runs."""

BUILD_SPREAD = 0.003
"""Relative deviation of the levels of builds that do not differ in what they measure: another
layout of the same code moves its speed by some tenths of a percent (Mytkowicz et al. 2009), and
no repetition averages it away."""

GUESS_WEIGHT = 4.0
"""Repetitions that the guess of the noise counts for, beside those that were measured."""

QUARTILE = 0.6745
"""Median of the absolute value of a standard normal."""

REACH, POINTS = 6.0, 97
"""The levels are integrated over so many standard errors of an end to either side of it, at so
many points: an eighth of an error apart, half of one once sixteen times as much is known."""

CLIP = 2.0
"""Deviations beyond which a run says no more of how the noise of two series goes together."""

NODES = 16
"""Nodes of the quadrature of the information; exact to a thousandth of a nat."""

SEPARATE = 8.0
"""Deviations beyond which two levels are told apart with certainty."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What the runs say.

    Attributes:
        places: the measured positions, ascending, (k,); the two ends before they are measured.
        loglik: of a culprit above each of them and up to the next, (k - 1,).
        effects: change of the logarithm of every series at the likeliest of these, (s,).
        noise: standard deviation of the logarithm of one run, by series, (s,).
        share: part of the information of the series together that is left because their noise is
            correlated; 1 if it is not.
    """

    places: np.ndarray[tuple[int], np.dtype[np.int64]]
    loglik: Floats
    effects: Floats
    noise: Floats
    share: float


def fit(
    runs: Mapping[int, Sequence[Sequence[float]]],
    count: int,
    series: int,
    guess: float,
    build_spread: float,
) -> Fit:
    """Fit the logarithms of the runs of each position, ascending, of ``count`` positions.

    ``guess`` is the noise that is assumed before it is known.
    """
    if not {0, count - 1} <= set(runs):
        # Nothing is known before both ends are: all places are alike.
        ends = np.array([0, count - 1])
        return Fit(ends, np.zeros(1), np.zeros(series), np.full(series, guess), 1.0)
    places = np.array(list(runs))
    values = np.concatenate([np.array(each) for each in runs.values()])
    sizes = np.array([len(each) for each in runs.values()])
    noise = np.maximum(_noise(runs.values(), series, guess), build_spread)
    share = _share(runs.values(), noise)
    sides = [
        _side(values[:, j], sizes, float(noise[j]), build_spread, good)
        for j in range(series)
        for good in (True, False)
    ]
    loglik = sum((side.loglik for side in sides), np.zeros(len(places) - 1)) * share
    best = int(np.argmax(loglik))
    levels = np.array([side.levels[best] for side in sides]).reshape(series, 2)
    return Fit(places, loglik, levels[:, 1] - levels[:, 0], noise, share)


def information(below: Floats, separation: Floats) -> Floats:
    """Return what a measurement tells, in nats, of whether the culprit is at or below its place.

    below: (n,) probabilities that it is. separation: (n,) of the two levels, in standard
    deviations. The mutual information of a binary input and a channel with Gaussian noise
    (Cover and Thomas, Elements of Information Theory, 2006, chapter 8).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    q, d = below[:, None], np.minimum(separation, SEPARATE)[:, None]
    # The logarithm of the likelihood ratio is normal, with mean -d^2/2 or d^2/2 and deviation d.
    ratio_good, ratio_bad = d * nodes - d**2 / 2.0, d * nodes + d**2 / 2.0
    good = -np.log((1.0 - q) + q * np.exp(ratio_good))
    bad = ratio_bad - np.log((1.0 - q) + q * np.exp(ratio_bad))
    with np.errstate(invalid="ignore"):
        told = ((1.0 - q) * good + q * bad) @ weights
    return np.asarray(np.maximum(told, 0.0), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of every split of a series: its log likelihood and its level, (k - 1,) each."""

    loglik: Floats
    levels: Floats


def _side(values: Floats, sizes: Floats, noise: float, build_spread: float, good: bool) -> _Side:
    """Integrate the level of one side of every split over a grid around that of its end."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    end = values[: sizes[0]] if good else values[starts[-1] :]
    error = np.sqrt(noise**2 / len(end) + build_spread**2)
    grid = np.median(end) + np.linspace(-REACH, REACH, POINTS) * error
    z2 = ((values[:, None] - grid[None, :]) / (CORE * noise)) ** 2
    density = -0.5 * (TAIL + 1.0) * np.log1p(z2 / TAIL)
    # n runs of a build are worth n / (1 + n spread^2 / noise^2) of independent ones: the
    # variance of their mean is noise^2 / n + spread^2.
    worth = 1.0 / (1.0 + sizes * (build_spread / noise) ** 2)
    place = np.add.reduceat(density, starts, axis=0) * worth[:, None]
    held = np.cumsum(place, axis=0)[:-1] if good else np.cumsum(place[::-1], axis=0)[::-1][1:]
    total = logsumexp(held, axis=1)
    levels = np.exp(held - total[:, None]) @ grid
    return _Side(np.asarray(total, dtype=np.float64), np.asarray(levels, dtype=np.float64))


def _noise(runs: Iterable[Sequence[Sequence[float]]], series: int, guess: float) -> Floats:
    """Return the noise of one run of each series, from repetitions of positions.

    By the median difference of two runs of a position (Bickel and Lehmann 1979), in which a spike
    counts no more than any run; positions count by their repetitions.
    """
    differences, weights, freedom = [], [], 0
    for each in runs:
        values = np.array(each)
        size = len(values)
        first, second = np.triu_indices(size, 1)
        differences.append(np.abs(values[first] - values[second]))
        # size - 1 degrees of freedom, shared by size (size - 1) / 2 pairs.
        weights.append(np.full(len(first), 2.0 / size))
        freedom += size - 1
    if not freedom:
        return np.full(series, guess)
    apart, weight = np.concatenate(differences), np.concatenate(weights)
    medians = np.array([_weighted_median(apart[:, j], weight) for j in range(series)])
    measured = medians / (np.sqrt(2.0) * QUARTILE)
    squares = GUESS_WEIGHT * guess**2 + freedom * measured**2
    return np.asarray(np.sqrt(squares / (GUESS_WEIGHT + freedom)), dtype=np.float64)


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(below, below[-1] / 2.0)]])


def _share(runs: Iterable[Sequence[Sequence[float]]], noise: Floats) -> float:
    """Return the information of all series together over the sum of theirs.

    By the design effect 1 + (s - 1) rho (Kish 1965), with the mean square of the correlations
    between the series within positions, less what chance alone would make of it.
    """
    series = len(noise)
    repeated = [np.array(each) for each in runs if len(each) > 1]
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
    return 1.0 / (1.0 + (series - 1) * float(np.sqrt(square)))
