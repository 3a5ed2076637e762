"""Simulated performance series: ladders of replicated positions with kinds of noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from changepoint.series import Floats, Ints

Noise = Callable[[np.random.Generator, "SeriesShape"], Floats]
"""Draws (positions, replicates) deviations from the level, in standard deviations of the core."""

LEVEL = 100.0
"""The initial level of all series, so that a noise of 2 is one of 2 %."""


@dataclass(frozen=True, slots=True)
class SeriesShape:
    """The shape of a series: how many positions and how many replicates of each."""

    positions: int
    replicates: int

    def labels(self) -> Ints:
        """The position of each value, (positions * replicates,)."""
        return np.repeat(np.arange(self.positions), self.replicates)

    def __str__(self) -> str:
        return f"{self.positions}x{self.replicates}"


def gauss(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Independent normal values."""
    return random.normal(size=(ladder.positions, ladder.replicates))


def t3(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Heavy tails: Student's t with three degrees of freedom, scaled to a deviation of 1."""
    shape = (ladder.positions, ladder.replicates)
    return np.asarray(random.standard_t(3, size=shape) / np.sqrt(3.0), dtype=np.float64)


def bimodal(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Two modes, four deviations apart; each replicate is in the lower one three times in ten."""
    low = random.random((ladder.positions, ladder.replicates)) < 0.3
    return gauss(random, ladder) - 4.0 * low


def spikes(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Normal values of which 2 % are ten to twenty deviations too low."""
    shape = (ladder.positions, ladder.replicates)
    hit = random.random(shape) < 0.02
    return gauss(random, ladder) - hit * random.uniform(10.0, 20.0, shape)


def quantised(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Normal values rounded to about 20 levels."""
    return np.round(gauss(random, ladder) / 0.3) * 0.3


def coarse(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Normal values rounded to steps of two deviations: three or four levels."""
    return np.round(gauss(random, ladder) / 2.0) * 2.0


def position_half(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Normal values; positions differ too, by half the deviation of replicates."""
    return gauss(random, ladder) + 0.5 * random.normal(size=(ladder.positions, 1))


def position_equal(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Normal values; positions differ as much as replicates do."""
    return gauss(random, ladder) + random.normal(size=(ladder.positions, 1))


def autocorrelated(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """An autoregression of order one with a coefficient of .5 and a deviation of 1."""
    fresh = gauss(random, ladder)
    values = fresh.copy()
    for i in range(1, ladder.positions):
        values[i] = 0.5 * values[i - 1] + np.sqrt(0.75) * fresh[i]
    return values


def autocorrelated_wide(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """The same, but the innovation of each night has a deviation of 1, the values one of 1.15."""
    return np.asarray(autocorrelated(random, ladder) / np.sqrt(0.75), dtype=np.float64)


def drift(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Normal values that rise by 5 % in 500 positions if the deviation is 2 % of the level."""
    return gauss(random, ladder) + 0.005 * np.arange(ladder.positions)[:, None]


NOISES: Mapping[str, Noise] = MappingProxyType(
    {
        "gauss": gauss,
        "t3": t3,
        "bimodal": bimodal,
        "spikes": spikes,
        "quantised": quantised,
        "coarse": coarse,
        "position .5": position_half,
        "position 1": position_equal,
        "AR(.5)": autocorrelated,
        "AR(.5) wide": autocorrelated_wide,
        "drift": drift,
    }
)


def draw(
    noise: Noise,
    ladder: SeriesShape,
    random: np.random.Generator,
    *,
    sigma: float,
    step: float = 0.0,
    at: int = 0,
) -> Floats:
    """A series of (positions * replicates,) values with a relative step before position ``at``.

    sigma: noise in percent of the level. step: as a fraction, 0 for none.
    """
    values = LEVEL + sigma * noise(random, ladder)
    values[at:] *= 1.0 + step
    return values.ravel()
