"""From series to change points, and from change points to regressions: one for one cause."""

from __future__ import annotations

import math
from collections.abc import Sequence

from changepoint import ChangePoint, Detection, detect
from pipeline.analyse.rules import Watch
from pipeline.errors import UserError
from pipeline.metrics import LEAST_CHANGE, is_worse
from pipeline.model import (
    Regression,
    RegressionKind,
    RegressionState,
    Series,
    Shift,
    digest,
)
from pipeline.store.derive.background import SUSTAINED

SLA = "sla"
"""The metric by which an SLA is kept or not: one that is not has figures of another load."""


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


def group_shifts(shifts: Sequence[Shift]) -> list[Regression]:
    """Put the shifts that can have one cause together, worst first.

    One cause: the same line, the same kind and way (worse or better), and a position that lies in
    the intervals of all of them. The shift whose position is surest gives that of its group; one
    that could be part of several groups is of the nearest.
    """
    groups: list[list[Shift]] = []
    for shift in sorted(shifts, key=sureness):
        fitting = [group for group in groups if _same_cause(group, shift)]
        if fitting:
            min(fitting, key=lambda group: abs(group[0].position - shift.position)).append(shift)
        else:
            groups.append([shift])
    return sorted((_regression(group) for group in groups), key=_badness)


def sureness(shift: Shift) -> tuple[int, float, float, str, str]:
    """Return a sort key: first the change whose position is known best, then the least likely."""
    key = shift.series
    return (shift.latest - shift.earliest, shift.pvalue, -size(shift), key.step, key.metric)


FROM_ZERO = 1.0
"""What a change from a level of zero, which is infinite, counts as beside relative ones: as if all
had been lost, so that it hides no change of throughput that is as large."""


MOST_LOST = -1.0
"""No figure is below zero, so that none can lose more than all, whatever a normal would allow."""


def size(shift: Shift) -> float:
    """Return how large a change is relative to the level before, without its sign."""
    return abs(shift.effect) if math.isfinite(shift.effect) else FROM_ZERO


def worst(regression: Regression) -> Shift:
    """Return the largest change of a regression."""
    return max(regression.shifts, key=size)


def clearest(regression: Regression, count: int) -> list[Shift]:
    """Return the shifts to look for when a regression is measured again, the largest first.

    They are of one cell, that of the largest change: what has one cause is clearest there. Of its
    figures it is the ``count`` that changed most, as they share the error. Raises UserError where
    every level that changed is zero on one side.
    """
    shifts = [
        shift
        for shift in regression.shifts
        if shift.kind is not RegressionKind.LEVEL or (shift.before > 0 and shift.after > 0)
    ]
    if not shifts:
        raise UserError(
            f"{regression.fingerprint}: every level that changed is zero on one side, and of zero "
            "there is no ratio to confirm"
        )
    place = cell_of(max(shifts, key=size))
    beside = [shift for shift in shifts if cell_of(shift) == place]
    return sorted(beside, key=size, reverse=True)[:count]


def machine_of(regression: Regression) -> str:
    """Return the machine class on which it is measured again: where it is clearest."""
    try:
        return clearest(regression, 1)[0].series.machine_class
    except UserError:
        return worst(regression).series.machine_class


def cell_of(shift: Shift) -> tuple[str, str, str, str]:
    """Return what tells the cell of a shift from others of its revision."""
    key = shift.series
    return key.workload_hash, key.config, key.build_options, key.machine_class


def _badness(regression: Regression) -> tuple[bool, float, int]:
    return (not regression.worse, -size(worst(regression)), regression.position)


def _same_cause(group: Sequence[Shift], other: Shift) -> bool:
    surest = group[0]
    return (
        surest.series.line == other.series.line
        and surest.kind is other.kind
        and surest.worse == other.worse
        # What changed twice had two causes.
        and all(shift.series != other.series for shift in group)
        and other.earliest <= min(shift.latest for shift in group)
        and max(shift.earliest for shift in group) <= other.latest
    )


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
