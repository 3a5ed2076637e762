"""The evidence for a change of spread, and the positions at which it may truly lie."""

from __future__ import annotations

import math

import numpy as np

from changepoint.detection.effect import LOCATION_DROP
from changepoint.detection.scan import evidence
from changepoint.jit import compiled
from changepoint.series import RESOLUTION, Floats, Ints

SPARE_SHARE = 0.4
"""Share of the evidence that must remain without the largest values of the noisier side."""

SINGLE_DEGREES = 10.0
"""Degrees of freedom of the prior assumption that the positions of a ladder differ in dispersion no
more than their replicates explain."""


@compiled
def standing(loudness: Floats, tau: int, spared: int, factor: float) -> float:
    """Return the evidence for a change of spread at a place, as a squared normal deviation.

    Loudness (the scores of noisiness) is (n,).

    The evidence is at most that without the ``spared`` largest values of the louder side, divided
    by ``SPARE_SHARE``. factor: ratio of the variance of a mean to that of independent scores, from
    ``dispersion``.
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
    """Return the variance of position means relative to what their deviations explain, at least 1.

    starts: (positions + 1,) where each position begins in ``loudness``. split: the start of the
    position after the change. A short ladder cannot determine the ratio well, hence
    ``SINGLE_DEGREES``.
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
    """Return the first and the last place that may be the true one, at 95 % confidence.

    A place is possible if it explains at most ``LOCATION_DROP`` variances less squared error than
    the best place.
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
