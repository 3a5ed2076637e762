"""How large a change is and where it may be: levels and confidence intervals, no randomness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from changepoint.model import Level
from changepoint.noise import CLIP, clip_replicates, quantum
from changepoint.position_test import PositionNoise, Replicates
from changepoint.series import RESOLUTION, Floats, Ints, Series

CONFIDENCE = 0.95
"""Confidence of the interval of an effect and of a position."""

LOCATION_DROP = -2.0 * math.log(1.0 - math.sqrt(CONFIDENCE))
"""A position stays in the interval while moving the change there costs less than this many noise
variances of squared error: the quantile of the likelihood ratio for a change point, whose
distribution is (1 - exp(-x/2))^2 (Siegmund, Annals of Statistics 16, 1988)."""

MAD_TO_DEVIATION = 1.4826022185056018
"""Makes the median absolute deviation of normal values their standard deviation."""

LARGEST_EXPONENT = 700.0
"""exp() of more overflows a double."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Positions [start, stop) of a series with their level, in the scaled unit.

    values: clipped values; offsets: their positions, from 0; centre: robust mean.
    """

    start: int
    stop: int
    values: Floats
    offsets: Ints
    centre: float

    @property
    def count(self) -> int:
        """Measured values."""
        return len(self.values)


def stretches(series: Series, changes: list[int]) -> list[Stretch]:
    """The series cut before each of the given positions, outliers of both kinds clipped.

    Replicates are clipped to their position; then, in stretches of four positions and more, a
    position that sticks out is moved as a whole to within the scatter of the others.
    """
    clipped = clip_replicates(series.scaled, series.offsets)
    edges = [0, *changes, series.positions]
    return [_stretch(clipped, series.offsets, start, stop) for start, stop in pairwise(edges)]


def _stretch(clipped: Floats, all_offsets: Ints, start: int, stop: int) -> Stretch:
    offsets = all_offsets[start : stop + 1] - all_offsets[start]
    values = clipped[all_offsets[start] : all_offsets[stop]]
    if stop - start >= 4:
        means = Replicates.of(values, offsets).means
        middle = float(np.median(means))
        reach = CLIP * MAD_TO_DEVIATION * float(np.median(np.abs(means - middle)))
        if reach > 0.0:
            moved = np.clip(means, middle - reach, middle + reach) - means
            values = values + np.repeat(moved, np.diff(offsets))
    return Stretch(start, stop, values, offsets, float(np.mean(values)))


def level(series: Series, stretch: Stretch) -> Level:
    """The level of a stretch in the caller's unit."""
    spread = float(np.std(stretch.values, ddof=1)) if stretch.count > 1 else 0.0
    return Level(series.origin + series.unit * stretch.centre, series.unit * spread, stretch.count)


def residual_noise(parts: list[Stretch], units: list[float]) -> PositionNoise:
    """The noise of positions around the levels of several stretches, each in a unit of its own."""
    scatter = 0.0
    pieces: list[Replicates] = []
    steps = [RESOLUTION]
    for part, unit in zip(parts, units, strict=True):
        scaled = part.values / unit
        pieces.append(Replicates.of(scaled, part.offsets))
        scatter += pieces[-1].scatter()
        whole = np.array([0, part.count], dtype=np.int64)
        steps.append(quantum(scaled, whole, RESOLUTION))
    joined = Replicates(
        np.concatenate([p.counts for p in pieces]),
        np.concatenate([p.means for p in pieces]),
        np.concatenate([p.squares for p in pieces]),
    )
    return joined.noise(scatter, len(parts), max(steps))


def relative(before: float, after: float) -> float:
    """(after - before) / |before|, infinite if the level before is zero and the one after not."""
    if before == 0.0:
        return math.copysign(math.inf, after) if after else 0.0
    return (after - before) / abs(before)


def effect_interval(series: Series, left: Stretch, right: Stretch) -> tuple[float, float]:
    """Confidence interval of the relative change of level from left to right.

    Of the logarithm of the ratio, with noise in proportion to the level, as it is in a rate or
    a cost per operation. If a level is not clear of zero, of the difference instead, divided by
    the level before; and unbounded if that is zero.
    """
    before, after = (level(series, part).level for part in (left, right))
    share = 1.0 / left.count + 1.0 / right.count
    if before * after > 0.0:
        units = [abs(before) / series.unit, abs(after) / series.unit]
        noise = residual_noise([left, right], units)
        reach = noise.quantile(CONFIDENCE) * math.sqrt(noise.variance * share)
        ratio = after / before
        ends = [ratio * math.exp(sign * min(reach, LARGEST_EXPONENT)) - 1.0 for sign in (-1, 1)]
        if before < 0.0:
            ends = [-ends[1], -ends[0]]
        return ends[0], ends[1]
    if before == 0.0:
        return -math.inf, math.inf
    noise = residual_noise([left, right], [1.0, 1.0])
    reach = noise.quantile(CONFIDENCE) * math.sqrt(noise.variance * share) * series.unit
    return relative(before, after - reach), relative(before, after + reach)


def position_interval(left: Stretch, right: Stretch) -> tuple[int, int]:
    """The first and last position, as ordinals in the series, that may start the right stretch."""
    noise = residual_noise([left, right], [1.0, 1.0])
    # Student's quantile in place of the normal one where the noise is known badly.
    allowed = LOCATION_DROP * noise.variance * (noise.quantile(CONFIDENCE) / 1.959964) ** 2
    means = np.concatenate([Replicates.of(p.values, p.offsets).means for p in (left, right)])
    counts = np.concatenate([np.diff(p.offsets) for p in (left, right)]).astype(np.float64)
    weight, total = np.cumsum(counts)[:-1], np.cumsum(counts * means)[:-1]
    rest, rest_total = counts.sum() - weight, (counts * means).sum() - total
    explained = total**2 / weight + rest_total**2 / rest
    at = left.stop - left.start
    candidates = np.flatnonzero(np.max(explained) - explained <= allowed) + 1
    first = min(int(np.min(candidates, initial=at)), at)
    last = max(int(np.max(candidates, initial=at)), at)
    return left.start + first, left.start + last
