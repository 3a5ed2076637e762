"""The noise between repeated values: its size, the quantisation step, and clipped outliers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from changepoint.jit import compiled

if TYPE_CHECKING:
    from changepoint.series import Floats, Ints

CLIP = 3.0
"""Distance from the median of its position, in robust deviations, at which a replicate is clipped.
This affects .3 % of normal replicates, and a spike then weighs no more than an unlucky
replicate."""

PAIR_QUANTILE = 0.75
"""Quantile of the differences between replicates from which the scale inside positions is computed.
One spike spoils 2 of the 15 differences of five positions of three, so the quantile must not be
much higher. Two modes make up to half of the differences large and are noise, not spikes, so it
must not be as low as the median."""

PARTNERS = 16
"""Number of following replicates of its position that each replicate is compared with. All pairs of
a position of a thousand would be half a million differences without more information."""

NORMAL_QUANTILE = float(ndtri(0.5 + PAIR_QUANTILE / 2.0))
"""Quantile ``PAIR_QUANTILE`` of |z|, z standard normal: converts the scale to a standard
deviation."""

NORMAL_MEDIAN = float(ndtri(0.75))
"""Median of |z|: converts the median absolute deviation of normal values to a standard deviation.
"""


def clip_replicates(values: Floats, offsets: Ints, scale: float | None = None) -> Floats:
    """Clip outlying replicates at ``CLIP`` robust deviations from the median of their position.

    values: (n,); offsets: (positions + 1,); scale: :func:`replicate_scale` of them, if it is known.
    If no majority of the replicates agrees, spikes cannot be identified, and the replicates are
    unchanged: that position is noisy.
    """
    if len(values) == len(offsets) - 1:
        return values
    if scale is None:
        scale = replicate_scale(values, offsets)
    return values if scale == 0.0 else _clipped(values, offsets, CLIP * scale)


def replicate_scale(values: Floats, offsets: Ints) -> float:
    """Return a robust standard deviation between repeated values; 0 without any."""
    differences = _differences(values, offsets)
    if not len(differences):
        return 0.0
    quantile = float(np.quantile(differences, PAIR_QUANTILE))
    return quantile / NORMAL_QUANTILE / float(np.sqrt(2.0))


def quantum(values: Floats, offsets: Ints, resolution: float) -> float:
    """Return the quantisation step of values: their smallest difference if some values repeat.

    Groups (positions, or segments) are given by ``offsets``. Only differences inside a group count,
    so a step between groups is not taken for the quantisation step. The result is 0 if no values
    repeat: they are then not quantised.
    """
    gaps, repeats = smallest_gaps(sorted_groups(values, offsets), offsets, resolution)
    smallest = float(np.min(gaps, initial=np.inf))
    return smallest if np.any(repeats) and np.isfinite(smallest) else 0.0


def sorted_groups(values: Floats, offsets: Ints) -> Floats:
    """Return a copy of values, sorted inside each group."""
    ordered = values.copy()
    for start, stop in pairwise(offsets.tolist()):
        ordered[start:stop].sort()
    return ordered


@compiled
def smallest_gaps(ordered: Floats, offsets: Ints, resolution: float) -> tuple[Floats, Floats]:
    """Return the smallest difference between values of each group, and whether any repeat.

    ordered: (n,) values, sorted inside each group.
    """
    groups = len(offsets) - 1
    gaps = np.full(groups, np.inf)
    repeats = np.zeros(groups)
    for g in range(groups):
        for i in range(offsets[g] + 1, offsets[g + 1]):
            gap = ordered[i] - ordered[i - 1]
            if gap <= resolution:
                repeats[g] = 1.0
            elif gap < gaps[g]:
                gaps[g] = gap
    return gaps, repeats


@compiled
def _clipped(values: Floats, offsets: Ints, reach: float) -> Floats:
    out = values.copy()
    for p in range(len(offsets) - 1):
        start, stop = offsets[p], offsets[p + 1]
        low = high = values[start]
        for i in range(start + 1, stop):
            low, high = min(low, values[i]), max(high, values[i])
        # Most positions: no value is as far from the median, and a median costs much more.
        if high - low < reach:
            continue
        middle = np.median(values[start:stop])
        outside = 0
        for i in range(start, stop):
            outside += abs(values[i] - middle) > reach
        if 2 * outside < stop - start:
            for i in range(start, stop):
                out[i] = min(max(values[i], middle - reach), middle + reach)
    return out


@compiled
def _differences(values: Floats, offsets: Ints) -> Floats:
    """Return absolute differences between the repeated values of a position."""
    count = 0
    for p in range(len(offsets) - 1):
        size = offsets[p + 1] - offsets[p]
        near = min(size - 1, PARTNERS)
        count += near * size - near * (near + 1) // 2
    out = np.empty(count)
    k = 0
    for p in range(len(offsets) - 1):
        for i in range(offsets[p], offsets[p + 1]):
            for j in range(i + 1, min(i + PARTNERS + 1, offsets[p + 1])):
                out[k] = abs(values[i] - values[j])
                k += 1
    return out
