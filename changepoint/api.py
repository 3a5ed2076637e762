"""The entry point: check a series, search it with a method, measure and filter the changes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import get_args

from changepoint.detection import default, edivisive, effect, hunter, spread
from changepoint.detection.method import FoundChange, Method, MethodResult, Request, SharedNoise
from changepoint.detection.power import FRESH, POWER
from changepoint.detection.scan import MAX_PHI
from changepoint.model import ChangePoint, Detection, Direction, Noise, Segment
from changepoint.series import Floats, GroupedSeries, Positions, read

LARGEST_BUDGET = 100.0
"""Upper bound of ``alarms_per_1000``: with more, one search of an unchanged ladder would raise more
than one false alarm on average."""

_METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "default": Method(default.find, spreads=True),
        "edivisive": Method(edivisive.find),
        "hunter": Method(hunter.find, filters=True),
        "hunter-corrected": Method(hunter.find_corrected, filters=True),
    }
)


def methods() -> tuple[str, ...]:
    """Return the names of the methods that :func:`detect` can use."""
    return tuple(_METHODS)


def detect(
    values: Sequence[float | None] | Floats,
    *,
    positions: Positions | None = None,
    alarms_per_1000: float = 0.5,
    min_effect: float = 0.0,
    direction: Direction | None = None,
    method: str = "default",
    seed: int = 0,
    noise: SharedNoise | None = None,
    autocorrelation: float | None = None,
) -> Detection:
    """Find where the level or the spread of a series changes.

    Args:
        values: the series in order, one-dimensional; None and nan are missing.
        positions: label of each value's position, sorted; values of equal position are
            replicates of one revision, and changes fall only between positions. By default
            every value is a position of its own and its label is its index.
        alarms_per_1000: expected false alarms in 1000 nights that each add a position to a
            series and search all of it; an alarm counts on the first night it is raised.
        min_effect: smallest relative change of level that matters, as a fraction. Smaller
            changes are removed one at a time, the smallest first, and their neighbours are
            measured again without them. The Hunter methods have their own measure
            (docs/internals/hunter.md).
        direction: report only changes of level in this direction. The others still separate
            segments, so the reported changes do not depend on the filter. Changes of spread have
            no good direction and are always reported.
        method: one of ``methods()``. "default" is a compiled scan, calibrated by simulation, which
            leaves short ladders with replicates to "edivisive", the permutation test. Only
            "default" also looks for changes of spread. "hunter" is Apache Otava's method and
            returns the same indices: its alarm rate grows with ``alarms_per_1000``, but may exceed
            it.
        seed: seed of the random permutations. The same arguments give the same result on every
            machine.
        noise: noise of one value, as :func:`shared_noise` returns it for the series that were
            measured together with this one. The default method uses it for series of up to 30
            single values.
        autocorrelation: correlation of neighbouring positions, as :func:`learned_autocorrelation`
            returns it for all series of the machine; by default estimated from this series. Only
            the method "default" uses it.

    Raises:
        ValueError: values or positions are malformed, or an option is out of range. The message is
            one sentence.
    """
    if method not in _METHODS:
        raise ValueError(f"method {method!r} does not exist; choose one of {', '.join(_METHODS)}")
    if direction is not None and direction not in get_args(Direction):
        raise ValueError(f"direction must be increase, decrease or None, not {direction!r}")
    if not 0.0 < alarms_per_1000 < LARGEST_BUDGET:
        raise ValueError(f"alarms_per_1000 must be above 0 and below 100, not {alarms_per_1000}")
    if not (min_effect >= 0.0 and math.isfinite(min_effect)):
        raise ValueError(f"min_effect must be a fraction of at least 0, not {min_effect}")
    if int(seed) != seed or not 0 <= seed < 2**63:
        raise ValueError(f"seed must be a whole number between 0 and 2**63 - 1, not {seed}")
    if autocorrelation is not None and not 0.0 <= autocorrelation <= MAX_PHI:
        raise ValueError(f"autocorrelation must be from 0 to {MAX_PHI}, not {autocorrelation}")
    series = read(values, positions)
    outcome = _METHODS[method].find(
        series,
        Request(
            budget_of_levels(method, alarms_per_1000), min_effect, seed, noise, autocorrelation
        ),
    )
    return detection_of(series, outcome, method, alarms_per_1000, min_effect, direction)


def budget_of_levels(method: str, alarms_per_1000: float) -> float:
    """Return the part of ``alarms_per_1000`` that a method may spend on changes of level."""
    return (1.0 - spread.SHARE if _METHODS[method].spreads else 1.0) * alarms_per_1000


def detection_of(
    series: GroupedSeries,
    outcome: MethodResult,
    method: str,
    alarms_per_1000: float,
    min_effect: float,
    direction: Direction | None,
) -> Detection:
    """Measure and filter the changes of level that a method found; search for changes of spread.

    The options are those of :func:`detect`, already checked.
    """
    chosen = _METHODS[method]
    if not series.positions:
        return Detection(
            (),
            (),
            Noise(0.0, 0.0, 0.0, 0.0, 0.0),
            method,
            outcome.alarm_probability,
            math.inf,
            math.inf,
        )
    means = effect.Means.of(series)
    kept = list(outcome.found)
    if not chosen.filters:
        kept = _large_enough(series, means, kept, min_effect)
    ats = [found.at for found in kept]
    measured = effect.measure(series, ats, means)
    levels = (_change(series, measured, i, found) for i, found in enumerate(kept))
    changes = [c for c in levels if direction in (None, c.direction)]
    if chosen.spreads:
        changes += _spread_changes(series, ats, spread.find(series, ats, alarms_per_1000))
        changes.sort(key=lambda change: change.index)
    tails = measured.noise.tails
    smallest = 0.0 if chosen.filters else min_effect
    deviation = _deviation(series, measured, outcome.noise)
    half = series.positions // 2
    middle, fresh = (
        _detectable(deviation, series.positions, behind, outcome.needs(tails, behind), smallest)
        for behind in (half, min(FRESH, half))
    )
    return Detection(
        changes=tuple(changes),
        segments=_segments(series, measured),
        noise=measured.noise,
        method=method,
        alarm_probability=outcome.alarm_probability,
        detectable_effect=middle,
        detectable_fresh=fresh,
    )


def _large_enough(
    series: GroupedSeries, means: effect.Means, found: list[FoundChange], min_effect: float
) -> list[FoundChange]:
    kept = list(found)
    if min_effect == 0.0 or not kept:
        return kept
    edges = [0, *(f.at for f in kept), series.positions]
    levels = means.levels(series, edges)
    while kept:
        sizes = [abs(effect.relative(a, b)) for a, b in pairwise(levels)]
        smallest = min(range(len(sizes)), key=sizes.__getitem__)
        if sizes[smallest] >= min_effect:
            break
        del kept[smallest], edges[smallest + 1]
        levels[smallest : smallest + 2] = means.levels(series, edges[smallest : smallest + 2])
    return kept


def _change(
    series: GroupedSeries, measured: effect.SegmentedSeries, number: int, found: FoundChange
) -> ChangePoint:
    before, after = measured.levels[number : number + 2]
    first, last = measured.places[number]
    low, high = measured.effects[number]
    return ChangePoint(
        index=series.start(found.at),
        position=series.label(found.at),
        interval=(series.label(first), series.label(last)),
        before=before,
        after=after,
        effect=effect.relative(before.level, after.level),
        effect_interval=(low, high),
        pvalue=found.pvalue,
    )


def _spread_changes(
    series: GroupedSeries, ats: list[int], found: tuple[spread.SpreadChange, ...]
) -> list[ChangePoint]:
    """Find changes of spread, without mistaking changes of level for them."""
    if not found:
        return []
    cuts = sorted({*ats, *(change.at for change in found)})
    levels = effect.measure(series, cuts).levels
    changes = []
    for change in found:
        number = cuts.index(change.at)
        low, high = change.ratio_interval
        changes.append(
            ChangePoint(
                index=series.start(change.at),
                position=series.label(change.at),
                interval=(series.label(change.first), series.label(change.last)),
                before=levels[number],
                after=levels[number + 1],
                effect=change.ratio - 1.0,
                effect_interval=(low - 1.0, high - 1.0),
                pvalue=change.pvalue,
                kind="spread",
            )
        )
    return changes


def _segments(series: GroupedSeries, measured: effect.SegmentedSeries) -> tuple[Segment, ...]:
    edges = measured.edges.tolist()
    starts = [0, *(series.start(at) for at in edges[1:-1]), series.length]
    return tuple(
        Segment(
            start=starts[i],
            stop=starts[i + 1],
            first=series.label(edges[i]),
            last=series.label(edges[i + 1] - 1),
            level=level,
        )
        for i, level in enumerate(measured.levels)
    )


def _deviation(
    series: GroupedSeries, measured: effect.SegmentedSeries, noise: SharedNoise | None
) -> float:
    """Return the standard deviation of a position's mean, relative to the last segment's level."""
    if noise is not None:
        return noise.scale
    level = abs(measured.levels[-1].level)
    replicates = len(series.scaled) / series.positions
    position = math.hypot(measured.noise.between, measured.noise.scale / math.sqrt(replicates))
    return position / level if level else math.inf


def _detectable(
    deviation: float, positions: int, behind: int, needed: float, smallest: float
) -> float:
    """Return the smallest relative step that the search finds with a probability of 80 %.

    deviation: standard deviation of a position, as a share of the level. behind: positions after
    the step. needed: smallest step, in standard errors of the difference of the two levels.
    smallest: the smallest measured step that is reported; a true step of exactly this size measures
    smaller half of the time.
    """
    if behind == 0 or math.isinf(needed) or math.isinf(deviation):
        return math.inf
    error = deviation * math.sqrt(1.0 / behind + 1.0 / (positions - behind))
    return max(needed * error, smallest + POWER * error)
