"""From series to shifts: the change points of a series, between revisions."""

from __future__ import annotations

from collections.abc import Sequence

from changepoint import ChangePoint, Detection, detect
from pipeline.analyse.rules import Watch
from pipeline.metrics import LEAST_CHANGE, is_worse
from pipeline.model import RegressionKind, Series, Shift
from pipeline.store.derive.background import SUSTAINED

SLA = "sla"
"""The metric by which an SLA is kept or not: one that is not has figures of another load."""

MOST_LOST = -1.0
"""No figure is below zero, so that none can lose more than all, whatever a normal would allow."""


def detect_in(series: Series, watch: Watch) -> Detection:
    """Search one series, as it is watched."""
    return detect(
        [point.value for point in series.points],
        positions=[point.position for point in series.points],
        alarms_per_1000=watch.alarms_per_1000,
        min_effect=watch.min_effect,
    )


def find_shifts(series: Series, watch: Watch) -> list[Shift]:
    """Return the change points of one series, as shifts between revisions.

    Those too small for a word are left out: relative to the level before (``min_effect``) or, as
    that may be zero, in the unit of the metric. So are those of a direction that is not watched,
    and those of an SLA that is met as before, or missed as before.
    """
    found = detect_in(series, watch)
    shifts = [
        _spread(series, change) if change.kind == "spread" else _level(series, change)
        for change in found.changes
        if change.kind == "level" or _loud(change, watch.min_effect)
    ]
    return [shift for shift in shifts if watch.tells(worse=shift.worse) and _counts(shift)]


def _loud(change: ChangePoint, smallest: float) -> bool:
    """Say whether the noise is, on one side, as large as a change that would be of interest."""
    return any(
        level.spread >= smallest * abs(level.level) for level in (change.before, change.after)
    )


def _counts(shift: Shift) -> bool:
    """Say whether a change is worth a word: large in its own unit, or a missed or met SLA."""
    if shift.kind is RegressionKind.SLA:
        return (shift.before < SUSTAINED) is not (shift.after < SUSTAINED)
    least = LEAST_CHANGE.get(shift.series.metric, 0.0)
    return shift.kind is RegressionKind.SPREAD or abs(shift.after - shift.before) >= least


def _level(series: Series, change: ChangePoint) -> Shift:
    kind = RegressionKind.SLA if series.key.metric == SLA else RegressionKind.LEVEL
    worse = is_worse(series.key.metric, change.effect)
    return _shift(series, change, kind, change.before.level, change.after.level, worse=worse)


def _spread(series: Series, change: ChangePoint) -> Shift:
    """Less spread is better, whatever the metric."""
    kind = RegressionKind.SPREAD
    worse = change.effect > 0
    return _shift(series, change, kind, change.before.spread, change.after.spread, worse=worse)


def _shift(
    series: Series,
    change: ChangePoint,
    kind: RegressionKind,
    before: float,
    after: float,
    *,
    worse: bool,
) -> Shift:
    labels = {point.position: point.revision for point in series.points}
    order = sorted(labels)
    position = series.points[change.index].position
    earliest, latest = change.interval
    return Shift(
        series=series.key,
        kind=kind,
        position=position,
        earliest=first_possible(int(earliest), order),
        latest=int(latest),
        last_good=labels[order[order.index(position) - 1]],
        first_bad=labels[position],
        before=before,
        after=after,
        effect=change.effect,
        effect_low=max(change.effect_interval[0], MOST_LOST),
        effect_high=change.effect_interval[1],
        pvalue=change.pvalue,
        worse=worse,
    )


def first_possible(earliest: int, measured: Sequence[int]) -> int:
    """Return the first position that may be the bad one: it need not have been measured.

    ``earliest`` is the first that was ``measured`` (positions) and may be it. Other series, on
    other machines, may have what lies before it.
    """
    return max((place + 1 for place in measured if place < earliest), default=earliest)
