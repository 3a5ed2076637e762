"""The entry point: check the input, run a method, measure and filter what it found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import get_args

import numpy as np

from changepoint import edivisive, effect, hunter
from changepoint.method import Found, Method, Request
from changepoint.model import ChangePoint, Detection, Direction, Noise, Segment
from changepoint.noise import quantum
from changepoint.position_test import Replicates, is_replicated
from changepoint.series import RESOLUTION, Floats, Positions, Series, read

NIGHTS_PER_LADDER = 10
"""Nights whose alarms one search of a replicated series may spend. A ladder is measured at once,
and its positions, ten or so, stand for the nights that could have raised an alarm."""

NIGHTS_PER_SERIES = 2
"""The same for a series without replicates, which is searched again every night. Some of the
nights' alarms are the one of the night before: at two, the measured rate of new ones is near the
budget, at three above it."""

_METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "edivisive": Method(edivisive.find),
        "hunter": Method(hunter.find, filters=True),
        "hunter-corrected": Method(hunter.find_corrected, filters=True),
    }
)


def methods() -> tuple[str, ...]:
    """The names ``detect`` takes as its method."""
    return tuple(_METHODS)


def detect(
    values: Sequence[float | None] | Floats,
    *,
    positions: Positions | None = None,
    alarms_per_1000: float = 0.5,
    min_effect: float = 0.0,
    direction: Direction | None = None,
    method: str = "edivisive",
    seed: int = 0,
) -> Detection:
    """Find where the level of a series changes.

    Args:
        values: the series in order, one-dimensional; None and nan are missing.
        positions: label of each value's position, sorted; values of equal position are
            replicates of one revision, and changes fall only between positions. By default
            every value is a position of its own and its label is its index.
        alarms_per_1000: false alarms to expect of 1000 nights that each add a position. One
            search spends those of ten nights if there are replicates and of two if not: a
            series without a change raises an alarm with a probability of at most .005 and
            .001 at the default.
        min_effect: smallest relative change of level that matters, as a fraction. Smaller
            changes are undone one at a time, the smallest first, their neighbours measured
            again without them. The Hunter methods have a measure of their own (docs/hunter.md).
        direction: report only changes of this direction. The others still separate segments,
            so what is reported does not depend on the filter.
        method: one of ``methods()``. "hunter" is Apache Otava's, index for index: its rate of
            alarms follows ``alarms_per_1000`` but does not keep it.
        seed: of the permutations. The same arguments give the same result on every machine.

    Raises:
        ValueError: values or positions are malformed, or an option is out of range. One sentence.
    """
    if method not in _METHODS:
        raise ValueError(f"no method {method!r}; there is {', '.join(_METHODS)}")
    if direction is not None and direction not in get_args(Direction):
        raise ValueError(f"direction must be increase, decrease or None, not {direction!r}")
    if not 0.0 < alarms_per_1000 < 1000.0 / NIGHTS_PER_LADDER:
        raise ValueError(f"alarms_per_1000 must be above 0 and below 100, not {alarms_per_1000}")
    if not (min_effect >= 0.0 and math.isfinite(min_effect)):
        raise ValueError(f"min_effect must be a fraction of at least 0, not {min_effect}")
    if not 0 <= seed < 2**63:
        raise ValueError(f"seed must be between 0 and 2**63 - 1, not {seed}")
    series = read(values, positions)
    nights = NIGHTS_PER_LADDER if is_replicated(np.diff(series.offsets)) else NIGHTS_PER_SERIES
    probability = alarms_per_1000 / 1000.0 * nights
    request = Request(alarms_per_1000, probability, min_effect, seed)
    chosen = _METHODS[method]
    found = chosen.find(series, request)
    kept = list(found) if chosen.filters else _large_enough(series, found, min_effect)
    parts = effect.stretches(series, [f.at for f in kept]) if series.positions else []
    changes = tuple(_change(series, f, *parts[i : i + 2]) for i, f in enumerate(kept))
    return Detection(
        changes=tuple(c for c in changes if direction in (None, c.direction)),
        segments=_segments(series, parts),
        noise=_noise(series, parts),
        method=method,
        alarm_probability=probability,
    )


def _large_enough(series: Series, found: tuple[Found, ...], min_effect: float) -> list[Found]:
    kept = list(found)
    while kept:
        parts = effect.stretches(series, [f.at for f in kept])
        levels = [effect.level(series, part).level for part in parts]
        sizes = [abs(effect.relative(a, b)) for a, b in pairwise(levels)]
        smallest = int(np.argmin(sizes))
        if sizes[smallest] >= min_effect:
            break
        del kept[smallest]
    return kept


def _change(
    series: Series, found: Found, left: effect.Stretch, right: effect.Stretch
) -> ChangePoint:
    before, after = effect.level(series, left), effect.level(series, right)
    first, last = effect.position_interval(left, right)
    return ChangePoint(
        index=int(series.indices[series.offsets[found.at]]),
        position=series.labels[found.at],
        interval=(series.labels[first], series.labels[last]),
        before=before,
        after=after,
        effect=effect.relative(before.level, after.level),
        effect_interval=effect.effect_interval(series, left, right),
        pvalue=found.pvalue,
    )


def _segments(series: Series, parts: list[effect.Stretch]) -> tuple[Segment, ...]:
    starts = [int(series.indices[series.offsets[part.start]]) for part in parts]
    edges = [0, *starts[1:], series.length]
    return tuple(
        Segment(
            start=start,
            stop=stop,
            first=series.labels[part.start],
            last=series.labels[part.stop - 1],
            level=effect.level(series, part),
        )
        for start, stop, part in zip(edges, edges[1:], parts, strict=False)
    )


def _noise(series: Series, parts: list[effect.Stretch]) -> Noise:
    if not parts:
        return Noise(0.0, 0.0, 0.0)
    pieces = [Replicates.of(part.values, part.offsets) for part in parts]
    scatter = sum(piece.scatter() for piece in pieces)
    between = scatter / max(series.positions - len(parts), 1)
    values = np.concatenate([part.values for part in parts])
    whole = Replicates.of(values, series.offsets)
    bounds = series.offsets[[0, *(part.stop for part in parts)]]
    step = quantum(series.scaled, bounds, RESOLUTION)
    if not whole.replicated:
        return Noise(series.unit * math.sqrt(between), 0.0, series.unit * step)
    within = whole.within()[0]
    excess = max(between - within, 0.0) / float(np.mean(whole.counts))
    return Noise(
        series.unit * math.sqrt(within), series.unit * math.sqrt(excess), series.unit * step
    )
