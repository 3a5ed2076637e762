"""From series to change points, and from change points to regressions: one for one cause."""

from __future__ import annotations

import math
from collections.abc import Sequence

from changepoint import ChangePoint, detect
from pipeline.analyse.rules import Watch
from pipeline.metrics import LEAST_CHANGE, METRICS, Direction
from pipeline.model import (
    Regression,
    RegressionState,
    Series,
    Shift,
    digest,
)

UNKNOWN_DIRECTION = Direction.MORE_IS_BETTER
"""Imported tables may bring metrics that are not in METRICS; they are taken as throughput."""


def is_worse(metric: str, effect: float) -> bool:
    """Say whether a relative change of a metric is the bad way."""
    known = METRICS.get(metric)
    direction = known.direction if known is not None else UNKNOWN_DIRECTION
    return effect < 0 if direction is Direction.MORE_IS_BETTER else effect > 0


def find_shifts(series: Series, watch: Watch) -> list[Shift]:
    """Return the change points of one series, as shifts between revisions.

    Those too small for a word are left out: relative to the level before (``min_effect``) or, as
    that may be zero, in the unit of the metric. So are those of a direction that is not watched.
    """
    values = [point.value for point in series.points]
    positions = [point.position for point in series.points]
    found = detect(
        values,
        positions=positions,
        alarms_per_1000=watch.alarms_per_1000,
        min_effect=watch.min_effect,
    )
    least = LEAST_CHANGE.get(series.key.metric, 0.0)
    shifts = [
        _shift(series, change)
        for change in found.changes
        if change.kind == "level" and abs(change.after.level - change.before.level) >= least
    ]
    return [shift for shift in shifts if watch.tells(worse=shift.worse)]


def group_shifts(shifts: Sequence[Shift]) -> list[Regression]:
    """Put the shifts that can have one cause together, worst first.

    One cause: the same line, the same kind and way (worse or better), and positions that lie in
    each other's intervals. The surest shift of a group gives its position.
    """
    groups: list[list[Shift]] = []
    for shift in sorted(shifts, key=lambda s: (s.pvalue, -size(s), s.series.step)):
        for group in groups:
            if _same_cause(group[0], shift):
                group.append(shift)
                break
        else:
            groups.append([shift])
    return sorted((_regression(group) for group in groups), key=_badness)


FROM_ZERO = 1.0
"""What a change from a level of zero, which is infinite, counts as beside relative ones: as if all
had been lost, so that it hides no change of throughput that is as large."""


def size(shift: Shift) -> float:
    """Return how large a change is relative to the level before, without its sign."""
    return abs(shift.effect) if math.isfinite(shift.effect) else FROM_ZERO


def worst(regression: Regression) -> Shift:
    """Return the largest change of a regression."""
    return max(regression.shifts, key=size)


def _badness(regression: Regression) -> tuple[bool, float, int]:
    return (not regression.worse, -size(worst(regression)), regression.position)


def _same_cause(surest: Shift, other: Shift) -> bool:
    return (
        surest.series.line == other.series.line
        and surest.kind is other.kind
        and surest.worse == other.worse
        and other.earliest <= surest.position <= other.latest
        and surest.earliest <= other.position <= surest.latest
    )


def _shift(series: Series, change: ChangePoint) -> Shift:
    labels = {point.position: point.revision for point in series.points}
    order = sorted(labels)
    position = series.points[change.index].position
    earliest, latest = change.interval
    return Shift(
        series=series.key,
        position=position,
        earliest=int(earliest),
        latest=int(latest),
        last_good=labels[order[order.index(position) - 1]],
        first_bad=labels[position],
        before=change.before.level,
        after=change.after.level,
        effect=change.effect,
        effect_low=change.effect_interval[0],
        effect_high=change.effect_interval[1],
        pvalue=change.pvalue,
        worse=is_worse(series.key.metric, change.effect),
    )


def _regression(group: Sequence[Shift]) -> Regression:
    surest = group[0]
    key = surest.series
    return Regression(
        fingerprint=_fingerprint(surest),
        line=key.line,
        target=key.target,
        last_good=surest.last_good,
        first_bad=surest.first_bad,
        position=surest.position,
        worse=surest.worse,
        kind=surest.kind,
        state=RegressionState.SUSPECTED,
        shifts=tuple(sorted(group, key=lambda s: (-size(s), s.series.step))),
    )


def _fingerprint(shift: Shift) -> str:
    """Return the identity of a regression that this is the surest shift of."""
    key = shift.series
    return digest([key.target, key.line, shift.first_bad, shift.worse, shift.kind.value])[:12]
