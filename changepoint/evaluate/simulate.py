"""Simulate series of measurements with many kinds of noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from changepoint.series import Floats, Ints

Noise = Callable[[np.random.Generator, "SeriesShape"], Floats]
"""The type of a noise: draws deviations from the level, (positions, replicates). Their unit is the
standard deviation of the noise without its outliers, modes and differences between positions."""

LEVEL = 100.0
"""The initial level of all series, so that a noise of 2 is one of 2 %."""


@dataclass(frozen=True, slots=True)
class SeriesShape:
    """How many positions a simulated series has, and how many values at each."""

    positions: int
    replicates: int

    def labels(self) -> Ints:
        """The position of each value of the series."""
        return np.repeat(np.arange(self.positions), self.replicates)

    def __str__(self) -> str:
        return f"{self.positions}x{self.replicates}"


def gauss(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Return normal noise."""
    return random.normal(size=(ladder.positions, ladder.replicates))


def t3(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Return noise with heavy tails (Student's t with three degrees of freedom)."""
    shape = (ladder.positions, ladder.replicates)
    return np.asarray(random.standard_t(3, size=shape) / np.sqrt(3.0), dtype=np.float64)


def bimodal(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Return noise that jumps between two levels, four deviations apart."""
    low = random.random((ladder.positions, ladder.replicates)) < 0.3
    return gauss(random, ladder) - 4.0 * low


def spikes(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Return normal noise in which 2 % of the values are far too low."""
    shape = (ladder.positions, ladder.replicates)
    hit = random.random(shape) < 0.02
    return gauss(random, ladder) - hit * random.uniform(10.0, 20.0, shape)


def quantised(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Return normal noise rounded to about 20 levels."""
    return np.round(gauss(random, ladder) / 0.3) * 0.3


def coarse(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Return normal noise rounded to three or four levels."""
    return np.round(gauss(random, ladder) / 2.0) * 2.0


def position_half(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Return normal noise plus differences between positions that are half as large."""
    return gauss(random, ladder) + 0.5 * random.normal(size=(ladder.positions, 1))


def position_equal(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Return normal noise plus differences between positions that are as large."""
    return gauss(random, ladder) + random.normal(size=(ladder.positions, 1))


def autocorrelated(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Return noise in which each value depends on the one before."""
    fresh = gauss(random, ladder)
    values = fresh.copy()
    for i in range(1, ladder.positions):
        values[i] = 0.5 * values[i - 1] + np.sqrt(0.75) * fresh[i]
    return values


def autocorrelated_wide(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Return noise in which values depend on the one before, with more spread."""
    return np.asarray(autocorrelated(random, ladder) / np.sqrt(0.75), dtype=np.float64)


def drift(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Return normal noise that slowly rises, by 5 % in 500 positions."""
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
    """Return a simulated series with a step before position ``at``.

    sigma: noise in percent of the level. step: as a fraction, 0 for none.
    """
    values = LEVEL + sigma * noise(random, ladder)
    values[at:] *= 1.0 + step
    return values.ravel()
