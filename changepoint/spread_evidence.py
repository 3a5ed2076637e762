"""What a split of loudness (loudness.py) is worth, and where else it may be."""

from __future__ import annotations

import math

import numpy as np

from changepoint.effect import LOCATION_DROP
from changepoint.jit import compiled
from changepoint.scan import evidence
from changepoint.series import RESOLUTION, Floats, Ints

SPARE_SHARE = 0.4
"""Share of the evidence that has to be left without the largest values of the louder side."""

SINGLE_DEGREES = 10.0
"""Degrees of freedom that the expectation is worth that positions of a ladder differ no
more in loudness than their replicates explain."""


@compiled
def standing(loudness: Floats, tau: int, spared: int, factor: float) -> float:
    """The evidence for the split of loudness (n,) before tau, as a squared normal deviation.

    At most what is left without the ``spared`` largest values of the louder side divided by
    ``SPARE_SHARE``. factor: of the variance of a mean, as in ``dispersion``.
    """
    n = len(loudness)
    quiet = np.sort(loudness[:tau])
    loud = np.sort(loudness[tau:])
    if np.mean(quiet) > np.mean(loud):
        quiet, loud = loud, quiet
    kept = loud[: max(len(loud) - spared, 0)]
    rest = float(np.var(quiet) * len(quiet) + np.var(loud) * len(loud))
    rest = max(rest, n * RESOLUTION * RESOLUTION)
    quieter = float(np.mean(quiet))
    least = math.inf
    for values, share in ((loud, 1.0), (kept, SPARE_SHARE)):
        if len(values) == 0 or np.mean(values) <= quieter:
            return 0.0
        k, m = float(len(quiet)), float(len(values))
        gain = (float(np.mean(values)) - quieter) ** 2 * k * m / (k + m)
        least = min(least, evidence(gain, rest, n - 2.0, factor) / share)
    return least


@compiled
def dispersion(loudness: Floats, starts: Ints, split: int) -> float:
    """By how much the means of positions vary more than their deviations explain; 1 if not.

    starts: (positions + 1,) where each begins in ``loudness``; split: one of them. In a short
    ladder nobody can know that well, hence ``SINGLE_DEGREES``.
    """
    first, stop = starts[0], starts[-1]
    left, right = np.mean(loudness[first:split]), np.mean(loudness[split:stop])
    inside = np.var(loudness[first:split]) * (split - first)
    inside += np.var(loudness[split:stop]) * (stop - split)
    if inside <= 0.0:
        return 1.0
    between = 0.0
    for p in range(len(starts) - 1):
        mean = np.mean(loudness[starts[p] : starts[p + 1]])
        level = left if starts[p] < split else right
        between += (mean - level) ** 2 * (starts[p + 1] - starts[p])
    ratio = float(between / inside) * max(stop - first - 2.0, 1.0)
    degrees = max(len(starts) - 3.0, 0.0)
    factor = (SINGLE_DEGREES + ratio) / (SINGLE_DEGREES + degrees)
    return float(max(factor, 1.0))


@compiled
def location(loudness: Floats, splits: Ints, part: tuple[int, int, int]) -> tuple[int, int]:
    """The first and the last of ``splits`` that the change may be at, at 95 % confidence.

    Those which explain less squared error than the best by at most ``LOCATION_DROP`` variances.
    """
    start, at, stop = part
    values = loudness[start:stop]
    inside = np.var(values[: at - start]) * (at - start) + np.var(values[at - start :]) * (
        stop - at
    )
    variance = inside / max(len(values) - 2.0, 1.0)
    mean = np.mean(values)
    total = np.cumsum(values - mean)
    k = float(at - start)
    best = total[at - start - 1] ** 2 * len(values) / (k * (len(values) - k))
    first = last = at
    for split in splits:
        if start < split < stop:
            k = float(split - start)
            gain = total[split - start - 1] ** 2 * len(values) / (k * (len(values) - k))
            if best - gain <= LOCATION_DROP * variance:
                first, last = min(first, split), max(last, split)
    return first, last
