"""Detect whether the throughput of a step swings periodically: how much, and how fast.

Checkpoints, compactions and rounds of vacuum cause such swings. The test looks for a peak in the
spectrum above red noise (Torrence and Compo, Bulletin of the American Meteorological Society 79,
1998): it divides the periodogram by the spectrum of an autoregression of order one. The ratios at a
frequency and its multiples are summed, because swings are seldom sines (de Jager et al., Astronomy
and Astrophysics 221, 1989: the H test). The sum with the lowest probability is tested. The
autoregression is fitted after the swing is removed, so the limit of the test comes from simulation.
docs/internals/statistics.md has the error rates; ``python -m benchmarks.steady`` measures them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from pipeline.model import TimePoint

Floats = NDArray[np.float64]

FEWEST = 120
"""The minimum number of throughput reports for a verdict. With 60, noise that is correlated over
ten seconds (an autocorrelation of 0.9) was reported as a swing in 22 of 600 steps."""

CYCLES = 4
"""The minimum number of cycles of a swing in a step: three may be coincidence."""

SHORTEST = 3
"""The shortest period of a swing, in throughput reports. Faster swings would look slower (aliasing)
or be invisible."""

HARMONICS = (1, 2, 4, 8)
"""The numbers of sines that are tried as the model of a swing: 1 for a wave, 8 for dips that last a
tenth of the period."""

FINENESS = 4
"""Number of frequencies tested per step of the periodogram. With one per step, a swing whose cycles
do not fill the timeline evenly would lie between two frequencies, and so would its multiples."""

SMALLEST = 0.02
"""The smallest reported amplitude, relative to the mean. In hours of data even swings of a
thousandth are significant, but they are irrelevant."""

SIGNIFICANCE = 1e-5
"""The p-value below which a swing is reported, computed as if the autoregression were known. Since
it is estimated, about one in 2000 steps without a swing has a lower p-value, for autocorrelations
up to 0.8."""


class Swing(NamedTuple):
    """A periodic swing of throughput: its period, its amplitude and its p-value.

    ``period`` is in values of the timeline. ``amplitude`` is half the distance between the highest
    and the lowest point of the fitted sines. ``pvalue`` is the probability that red noise with a
    known autocorrelation has a swing as strong as this.
    """

    period: float
    amplitude: float
    pvalue: float


def oscillation(timeline: Sequence[TimePoint]) -> dict[str, float]:
    """Return the metrics ``oscillation`` and ``period_s`` of a step; empty if it is too short.

    If no swing is significant, ``oscillation`` is 0 and ``period_s`` is missing.
    """
    if len(timeline) < FEWEST:
        return {}
    rates = np.array([point.ops_per_second for point in timeline])
    mean = float(rates.mean())
    if mean <= 0.0:
        return {}
    swing = likeliest_swing(rates)
    if swing is None or swing.pvalue >= SIGNIFICANCE or swing.amplitude < SMALLEST * mean:
        return {"oscillation": 0.0}
    seconds = (timeline[-1].at - timeline[0].at) / (len(timeline) - 1)
    return {"oscillation": swing.amplitude / mean, "period_s": swing.period * seconds}


def likeliest_swing(rates: Floats) -> Swing | None:
    """Return the most significant periodic swing of values around a straight line.

    Returns None if all values lie on the line.
    """
    values = _without_line(rates)
    count = len(values)
    if float(values @ values) <= 1e-18 * float(rates @ rates):
        return None
    grid = FINENESS * count
    power = np.abs(np.fft.rfft(values, grid)) ** 2 / count
    candidates = np.arange(FINENESS * CYCLES, grid // SHORTEST + 1)
    ratios = power / _red(values, len(power), grid)
    sums = {sines: _sums(ratios, candidates, sines) for sines in HARMONICS}
    logs = {sines: _rarity(found, sines) for sines, found in sums.items()}
    sines = min(logs, key=lambda number: float(logs[number].min()))
    best = int(candidates[int(logs[sines].argmin())])
    shape = _sines(values, best / grid, sines)
    # Test again without the swing: at first it is part of the noise that it is compared with.
    ratios = power / _red(values - shape, len(power), grid, sines)
    rarity = float(_rarity(_sums(ratios, np.array([best]), sines), sines)[0])
    trials = len(HARMONICS) * (count // SHORTEST - CYCLES + 1)
    return Swing(grid / best, float(np.ptp(shape)) / 2.0, min(1.0, trials * math.exp(rarity)))


def _without_line(rates: Floats) -> Floats:
    time = np.arange(len(rates)) - (len(rates) - 1) / 2.0
    values = rates - rates.mean()
    return np.asarray(values - time * (time @ values) / (time @ time), dtype=np.float64)


def _red(values: Floats, length: int, grid: int, sines: int = 0) -> Floats:
    """Return an upper bound on the spectrum of red noise with the autocorrelation of ``values``.

    The autocorrelation may be wrong by two standard errors, so the bound at each frequency is the
    largest power of all autoregressions in that range. ``length`` is the number of frequencies,
    ``grid`` the length of the transform, ``sines`` the number of sines already removed from
    ``values``.
    """
    square = max(float(values @ values), np.finfo(float).tiny)
    count = len(values)
    found = float(values[1:] @ values[:-1]) / square
    # Residuals of a fitted line look less correlated than they are (Marriott and Pope 1954).
    alike = (count * found + 2.0) / (count - 4.0)
    error = 2.0 * math.sqrt(max(1.0 - alike**2, 0.0) / count)
    angles = 2.0 * math.pi * np.arange(length) / grid
    shapes = [
        (1.0 - phi**2) / (1.0 + phi**2 - 2.0 * phi * np.cos(angles))
        for phi in np.clip((alike - error, alike, alike + error), 0.0, 1.0 - 2.0 / count)
    ]
    variance = square / (count - 2.0 - 2.0 * sines)
    return np.asarray(variance * np.maximum.reduce(shapes), dtype=np.float64)


def _sums(ratios: Floats, candidates: NDArray[np.int64], sines: int) -> Floats:
    """Return, for each candidate frequency, the sum of the ratios at its lowest multiples.

    ``sines`` is the number of multiples, the frequency itself included.
    """
    reach = np.append(ratios, 0.0)
    places = np.outer(np.arange(1, sines + 1), candidates)
    total = reach[np.minimum(places, len(ratios))].sum(axis=0)
    return np.asarray(total, dtype=np.float64)


def _rarity(sums: Floats, sines: int) -> Floats:
    """Return the logarithm of the probability that each sum of ratios is so large by chance."""
    return np.asarray(np.log(np.maximum(gammaincc(sines, sums), 1e-300)), dtype=np.float64)


def _sines(values: Floats, frequency: float, sines: int) -> Floats:
    """Fit a sine and its multiples to values, up to the highest visible frequency."""
    time = 2.0 * math.pi * frequency * np.arange(len(values))
    fit = np.zeros(len(values))
    for multiple in range(1, sines + 1):
        if frequency * multiple > 0.5:
            break
        turned = np.exp(-1j * multiple * time)
        height = 2.0 * (turned * values).sum() / len(values)
        fit += (height * turned.conj()).real
    return fit
