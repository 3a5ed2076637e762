"""The entry point: check the input, run a method, measure and filter what it found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import get_args

import numpy as np

from changepoint import edivisive, effect, hunter, robust
from changepoint.method import Found, Method, Outcome, Request
from changepoint.model import ChangePoint, Detection, Direction, Noise, Segment
from changepoint.noise import quantum, shape
from changepoint.position_test import Replicates
from changepoint.series import RESOLUTION, Floats, Positions, Series, read

LARGEST_BUDGET = 100.0
"""Upper bound of ``alarms_per_1000``: at more, a ladder would be expected to alarm."""

POWER = 0.8416212335729143
"""Quantile of the normal distribution at the power that ``detectable_effect`` is for, 80 %."""

_METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "edivisive": Method(edivisive.find),
        "robust": Method(robust.find),
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
        alarms_per_1000: false alarms to expect of 1000 nights that each add a position to a
            series and search all of it; an alarm counts on the first night it is raised.
        min_effect: smallest relative change of level that matters, as a fraction. Smaller
            changes are undone one at a time, the smallest first, their neighbours measured
            again without them. The Hunter methods have a measure of their own (docs/hunter.md).
        direction: report only changes of this direction. The others still separate segments,
            so what is reported does not depend on the filter.
        method: one of ``methods()``. "edivisive" is the permutation test. "robust" is a compiled
            scan, calibrated by simulation, which leaves short ladders to "edivisive". "hunter"
            is Apache Otava's, index for index: its rate of alarms follows ``alarms_per_1000``
            but does not keep it.
        seed: of the permutations. The same arguments give the same result on every machine.

    Raises:
        ValueError: values or positions are malformed, or an option is out of range. One sentence.
    """
    if method not in _METHODS:
        raise ValueError(f"no method {method!r}; there is {', '.join(_METHODS)}")
    if direction is not None and direction not in get_args(Direction):
        raise ValueError(f"direction must be increase, decrease or None, not {direction!r}")
    if not 0.0 < alarms_per_1000 < LARGEST_BUDGET:
        raise ValueError(f"alarms_per_1000 must be above 0 and below 100, not {alarms_per_1000}")
    if not (min_effect >= 0.0 and math.isfinite(min_effect)):
        raise ValueError(f"min_effect must be a fraction of at least 0, not {min_effect}")
    if not 0 <= seed < 2**63:
        raise ValueError(f"seed must be between 0 and 2**63 - 1, not {seed}")
    series = read(values, positions)
    chosen = _METHODS[method]
    outcome = chosen.find(series, Request(alarms_per_1000, min_effect, seed))
    kept = (
        list(outcome.found) if chosen.filters else _large_enough(series, outcome.found, min_effect)
    )
    parts = effect.stretches(series, [f.at for f in kept]) if series.positions else []
    changes = tuple(_change(series, f, *parts[i : i + 2]) for i, f in enumerate(kept))
    return Detection(
        changes=tuple(c for c in changes if direction in (None, c.direction)),
        segments=_segments(series, parts),
        noise=_noise(series, parts),
        method=method,
        alarm_probability=outcome.alarm_probability,
        detectable_effect=_detectable(series, parts, outcome),
    )


def _large_enough(series: Series, found: tuple[Found, ...], min_effect: float) -> list[Found]:
    kept = list(found)
    while kept and min_effect > 0.0:
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
        return Noise(0.0, 0.0, 0.0, 0.0, 0.0)
    bounds = series.offsets[[0, *(part.stop for part in parts)]]
    step = series.unit * quantum(series.scaled, bounds, RESOLUTION)
    within, between = _variances(series, parts)
    edges = np.array([0, *(part.stop for part in parts)], dtype=np.int64)
    tails, autocorrelation = shape(robust.position_values(series), edges)
    return Noise(
        scale=series.unit * math.sqrt(within),
        between=series.unit * math.sqrt(between),
        quantum=step,
        tails=tails,
        autocorrelation=autocorrelation,
    )


def _variances(series: Series, parts: list[effect.Stretch]) -> tuple[float, float]:
    """Variance of a value around its position or segment, and of positions beyond that."""
    pieces = [Replicates.of(part.values, part.offsets) for part in parts]
    scatter = sum(piece.scatter() for piece in pieces)
    between = scatter / max(series.positions - len(parts), 1)
    whole = Replicates.of(np.concatenate([part.values for part in parts]), series.offsets)
    if not whole.replicated:
        return between, 0.0
    within = whole.within()[0]
    return within, max(between - within, 0.0) / float(np.mean(whole.counts))


def _detectable(series: Series, parts: list[effect.Stretch], outcome: Outcome) -> float:
    """The relative step in the middle of such a series that is found with 80 % power."""
    level = abs(effect.level(series, parts[-1]).level) if parts else 0.0
    if level == 0.0 or series.positions < 2:
        return math.inf
    within, between = _variances(series, parts)
    replicates = len(series.scaled) / series.positions
    position = series.unit * math.sqrt(between + within / replicates)
    reach = math.sqrt(outcome.limit) + POWER
    return reach * position * math.sqrt(4.0 / series.positions) / level
