"""Limits for repeated tests of a growing sample that together keep the error probability.

After block k of at most n the sum of k independent standardised differences is compared with a
boundary. The part of the error alpha that may be spent by then is fixed in advance, as a function
of k / n (Lan and DeMets, Biometrika 70, 1983). Each boundary follows from those before it by the
recursion of Armitage, McPherson and Rowe (JRSS A 132, 1969): the density of the sum among paths
that have crossed none, convolved with one more block. The result is the nominal p-value of each
look; used as p-values of Student's t, they also serve for an unknown variance (Jennison and
Turnbull, Group Sequential Methods, 2000, section 11.5).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from changepoint.series import Floats

STEP = 0.02
"""Step of the recursion's grid, in deviations of one block. Halving it changes no nominal p-value
by more than a hundredth of itself."""

REACH = 8.0
"""Extent of the grid on either side of 0, in deviations of the whole sum: the probability beyond it
is 1e-15."""

EXPONENT = 0.5
"""The spent share of alpha is the share k / n to this power. A small power spends much in the first
looks. Most changes that are measured again are large and should show at once."""


def spent(share: float) -> float:
    """Return the share of the error that may be spent after a given share of the blocks."""
    return float(min(max(share, 0.0), 1.0) ** EXPONENT)


@lru_cache(maxsize=64)
def nominal_levels(limit: int, first: int, alpha: float) -> tuple[float, ...]:
    """Return the p-value that is needed at each look at the growing sample.

    If the two sides do not differ, the probability that any of the looks reaches its p-value is
    ``alpha``, above 0 and below .5. There is no look before block ``first``; the first look also
    gets the error of the blocks before it.
    """
    edge = REACH * math.sqrt(limit)
    points = int(2.0 * edge / STEP) | 1
    grid = np.linspace(-edge, edge, points)
    width = grid[1] - grid[0]
    reach = int(REACH / width)
    kernel = _normal(np.arange(-reach, reach + 1) * width) * width
    density: Floats = _normal(grid / math.sqrt(first)) / math.sqrt(first)
    levels: list[float] = []
    before = 0.0
    for blocks in range(first, limit + 1):
        if blocks > first:
            density = np.convolve(density, kernel, mode="same")
        now = alpha * spent(blocks / limit)
        boundary = _boundary(grid, density, now - before)
        before = now
        levels.append(float(ndtr(-boundary / math.sqrt(blocks))))
        density = np.where(grid < boundary, density, 0.0)
    return tuple(levels)


def _normal(at: Floats) -> Floats:
    """Return the density of the standard normal distribution."""
    density: Floats = np.exp(-(at**2) / 2.0) / math.sqrt(2.0 * math.pi)
    return density


def _boundary(grid: Floats, density: Floats, mass: float) -> float:
    """Return the point beyond which a distribution has a given probability."""
    above = np.cumsum(density[::-1]) * (grid[1] - grid[0])
    at = int(np.searchsorted(above, mass))
    if at >= len(grid):
        return float(grid[0])
    beyond = above[at - 1] if at else 0.0
    # Each grid point represents the cell around it.
    part = (mass - beyond) / (above[at] - beyond)
    return float(grid[-1 - at] + (0.5 - part) * (grid[1] - grid[0]))
