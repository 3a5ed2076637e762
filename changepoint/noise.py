"""The noise inside positions: its scale, its quantum, and what to do about single spikes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from changepoint.series import Floats, Ints

CLIP = 3.0
"""A replicate further than this many scales from the median of its position is moved there: of
normal replicates .3 % are, and a spike then weighs no more than an unlucky replicate."""

PAIR_QUANTILE = 0.75
"""The scale inside positions is read off this quantile of the differences between replicates.
One spike spoils 2 of the 15 differences of five positions of three, so the quantile may not be
much higher; two modes make up to half of the differences large and are noise, not spikes, so it
may not be as low as the median."""

NORMAL_QUANTILE = 1.1503493803760079
"""The same quantile of |z|, z standard normal: makes the scale a standard deviation."""

NORMAL_MEDIAN = 0.6744897501960817
"""Median of |z|: makes the median absolute deviation of normal values a standard deviation."""

FEWEST = 10
"""Values from which on the shape of the noise is told."""


def clip_replicates(values: Floats, offsets: Ints) -> Floats:
    """The values with replicates that stick out of their position moved to its edge.

    values: (n,); offsets: (positions + 1,). Where no majority of the replicates agrees, nobody
    can say which are the spikes, and they are left as they are: that position is noisy.
    """
    if len(values) == len(offsets) - 1:
        return values
    scale = replicate_scale(values, offsets)
    if scale == 0.0:
        return values
    clipped = values.copy()
    for start, stop in pairwise(offsets):
        middle = np.median(values[start:stop])
        reach = CLIP * scale
        outside = int(np.sum(np.abs(values[start:stop] - middle) > reach))
        if 2 * outside < stop - start:
            clipped[start:stop] = np.clip(values[start:stop], middle - reach, middle + reach)
    return clipped


def replicate_scale(values: Floats, offsets: Ints) -> float:
    """Robust standard deviation of a replicate around its position; 0 without replicates."""
    pairs: list[Floats] = []
    for start, stop in pairwise(offsets):
        first, second = np.triu_indices(int(stop - start), k=1)
        pairs.append(np.abs(values[start:stop][first] - values[start:stop][second]))
    differences = np.concatenate(pairs) if pairs else np.zeros(0)
    if not len(differences):
        return 0.0
    quantile = float(np.quantile(differences, PAIR_QUANTILE))
    return quantile / NORMAL_QUANTILE / float(np.sqrt(2.0))


def quantum(values: Floats, offsets: Ints, resolution: float) -> float:
    """The smallest difference above ``resolution`` between values of one group, if values repeat.

    Groups (positions, or segments) are given by ``offsets``. Only differences inside a group
    count, so a step between groups is not taken for the unit of measurement. Values that never
    repeat come from a continuous scale: 0.
    """
    smallest = np.inf
    repeats = False
    for start, stop in pairwise(offsets):
        gaps = np.diff(np.sort(values[start:stop]))
        repeats = repeats or bool(np.any(gaps <= resolution))
        smallest = min(smallest, float(np.min(gaps[gaps > resolution], initial=np.inf)))
    return smallest if repeats and np.isfinite(smallest) else 0.0


def shape(values: Floats, edges: Ints) -> tuple[float, float]:
    """Share of values in the tails and the correlation of neighbours, inside segments.

    values: (positions,); edges: (segments + 1,). The correlation is of values moved to within
    ``CLIP`` robust deviations of the median of their segment, corrected for the bias that each
    level takes out; 0 if there are fewer than ten values or no noise.
    """
    widths = np.diff(edges)
    medians = [float(np.median(values[a:b])) for a, b in pairwise(edges)]
    residuals = values - np.repeat(medians, widths)
    reach = CLIP * float(np.median(np.abs(residuals))) / NORMAL_MEDIAN
    if len(values) < FEWEST or reach == 0.0:
        return 0.0, 0.0
    tails = float(np.mean(np.abs(residuals) > reach))
    inside = np.clip(residuals, -reach, reach)
    inside -= np.repeat(np.add.reduceat(inside, edges[:-1]) / widths, widths)
    products = inside[1:] * inside[:-1]
    products[edges[1:-1] - 1] = 0.0
    correlation = float(np.sum(products) / np.sum(inside * inside)) + len(widths) / len(values)
    return tails, min(max(correlation, -1.0), 1.0)
