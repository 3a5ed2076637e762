"""The position test: whether a change of level exceeds the usual differences between revisions.

Each position is one observation here. Replicates of one position share a build, a memory layout and
an hour of the night, so positions differ a little even without a change. A permutation of single
values, which assumes independence, is then wrong. Permuting whole positions is right but cannot
find anything in a ladder: of five positions, the odd one is first or last in two of five orders.
The variance between positions is therefore estimated from two sources: a prior that ties it to the
noise between replicates, and the scatter of the positions on either side of the split. The weight
moves from the first to the second as the series grows (the moderated t of Smyth, Statistical
Applications in Genetics and Molecular Biology 3, 2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.special import stdtr

from changepoint.detection.scan import mean_factor
from changepoint.jit import compiled
from changepoint.series import Floats, Ints

PRIOR_RATIO = 0.1
"""Prior variance between positions, as a share of the variance between replicates: the deviation of
positions is a third of that of replicates."""

PRIOR_DEGREES = 20.0
"""Degrees of freedom of the prior: the weight of the scatter of 22 positions. At 10, a step of 10 %
at the start of five positions with a noise of 2 % is found in .88 of ladders instead of .94; at 40,
ladders whose positions differ as much as their replicates raise a third more false alarms."""

DOUBTED_DEGREES = 5.0
"""Degrees of freedom of the prior if the scatter exceeds it. The scatter then has more weight: an
underestimated noise costs a false alarm, an overestimated one only some nights of delay."""

WHOLE_SHARE = 0.8
"""Share of the alarm probability spent on splits whose right side reaches the end of the stretch.
The rest is for the more numerous splits that end earlier; only a temporary change of level needs
these."""


DIFFERENCE_EFFICIENCY = 2.0 / 3.0
"""Degrees of freedom of a difference of neighbours: a variance from successive differences is less
certain by this factor (von Neumann, Annals of Mathematical Statistics 12, 1941)."""


def is_replicated(counts: Floats | Ints) -> bool:
    """Whether a series has enough repeated measurements to separate noise from level.

    counts: (positions,) number of replicates. The values beyond the first of each position must be
    at least half as many as the positions, and at least two: with fewer, the noise between
    replicates is known less well than that between positions.
    """
    return float(np.sum(counts)) - len(counts) >= max(2.0, len(counts) / 2.0)


@dataclass(frozen=True, slots=True)
class Replicates:
    """The mean and the sum of squares of the repeated values at each position of a series.

    Each array is (positions,).
    """

    counts: Floats
    means: Floats
    squares: Floats

    @classmethod
    def of(cls, values: Floats, offsets: Ints) -> Replicates:
        """Summarise the values of each position. ``offsets`` says where each position begins.

        Values are (n,), offsets (positions + 1,).
        """
        counts = np.diff(offsets).astype(np.float64)
        means = np.add.reduceat(values, offsets[:-1]) / counts
        residuals = values - np.repeat(means, np.diff(offsets))
        return cls(counts, means, np.add.reduceat(residuals * residuals, offsets[:-1]))

    @property
    def replicated(self) -> bool:
        """Whether enough positions have repeated values to separate noise from level."""
        return is_replicated(self.counts)

    def within(self) -> tuple[float, float]:
        """The variance between repeated values of one position, and its degrees of freedom."""
        degrees = float(np.sum(self.counts - 1.0))
        return (float(np.sum(self.squares)) / degrees if degrees else 0.0), degrees


@dataclass(frozen=True, slots=True)
class Split:
    """The best split of a part of a series into two levels: where it is, and its p-value."""

    tau: int
    kappa: int
    pvalue: float


Number = TypeVar("Number", float, Floats)


def moderate(
    within: Number, within_degrees: Number, size: Number, scatter: Number, between: Number
) -> tuple[Number, Number]:
    """Estimate the variance between positions by combining a prior with the observed scatter.

    The arguments are numbers or arrays. within, within_degrees: mean square between replicates, and
    its degrees of freedom. size: mean number of replicates of a position. scatter, between: sum of
    squares of positions around their levels, and its degrees of freedom. Returns the variance and
    its degrees of freedom.
    """
    prior = within * (1.0 + size * PRIOR_RATIO)
    # The prior is no more certain than the within variance that it multiplies.
    sure = 1.0 / (1.0 / PRIOR_DEGREES + 1.0 / within_degrees)
    doubted = 1.0 / (1.0 / DOUBTED_DEGREES + 1.0 / within_degrees)
    larger = scatter > prior * between
    weight = doubted * larger + sure * (1.0 - larger)
    variance = np.maximum((weight * prior + scatter) / (weight + between), within)
    return variance, sure + between


moderated = compiled(moderate)
""":func:`moderate` for single numbers, as compiled code."""


def _beyond(replicates: Replicates, kappa: Ints) -> tuple[Floats, Floats]:
    """Return the sum of squares and its degrees of freedom after each possible end of a split.

    The sums are of differences between neighbouring positions, because a further change affects
    only one of them.
    """
    gaps = 1.0 / replicates.counts[:-1] + 1.0 / replicates.counts[1:]
    steps = np.concatenate((np.diff(replicates.means) ** 2 / gaps, [0.0]))
    behind = np.concatenate((np.cumsum(steps[::-1])[::-1], [0.0]))
    pairs = np.maximum(len(replicates.counts) - 1.0 - kappa, 0.0)
    return DIFFERENCE_EFFICIENCY * behind[kappa], DIFFERENCE_EFFICIENCY * pairs


def best_split(replicates: Replicates, floor: float, phi: float = 0.0) -> Split:
    """Find the most significant split of a series, with a p-value corrected for the selection.

    The correction is Bonferroni's, over all pairs of a split tau and an end kappa of its right
    side. Needs replicates and at least two positions. phi: known autocorrelation of the positions.
    """
    count = len(replicates.counts)
    tau, kappa = (a + 1 for a in np.triu_indices(count, k=1))
    weight = np.concatenate(([0.0], np.cumsum(replicates.counts)))
    total = np.concatenate(([0.0], np.cumsum(replicates.counts * replicates.means)))
    square = np.concatenate(([0.0], np.cumsum(replicates.counts * replicates.means**2)))
    inner = np.concatenate(([0.0], np.cumsum(replicates.squares)))
    n, m = weight[tau], weight[kappa] - weight[tau]
    left, right = total[tau] / n, (total[kappa] - total[tau]) / m
    scatter = np.maximum(square[kappa] - n * left**2 - m * right**2, 0.0)
    within_degrees = weight[kappa] - kappa
    # A window may happen to hold positions without replicates: it has no noise of its own.
    known = within_degrees > 0.0
    within = inner[kappa] / np.where(known, within_degrees, 1.0)
    rest, rest_degrees = _beyond(replicates, kappa)
    variance, degrees = moderate(
        within,
        np.where(known, within_degrees, 1.0),
        weight[kappa] / kappa,
        scatter + rest,
        kappa - 2.0 + rest_degrees,
    )
    deviation = np.sqrt(np.maximum(variance, floor * floor) * (1.0 / n + 1.0 / m))
    if phi > 0.0:
        factors = np.array([mean_factor(phi, float(k)) / k for k in range(1, count)])
        both = factors[tau - 1] + factors[kappa - tau - 1]
        deviation *= np.sqrt(both / (1.0 / tau + 1.0 / (kappa - tau)))
    t = np.abs(left - right) / np.maximum(deviation, np.finfo(np.float64).tiny)
    whole = kappa == count
    others = max(int(np.sum(~whole)), 1)
    looks = np.where(whole, (count - 1) / WHOLE_SHARE, others / (1.0 - WHOLE_SHARE))
    pvalue = np.where(known, np.minimum(2.0 * stdtr(degrees, -t) * looks, 1.0), 1.0)
    best = np.lexsort((-kappa, -t, pvalue))[0]
    return Split(int(tau[best]), int(kappa[best]), float(pvalue[best]))
