"""Changes that are too small in each series alone, and clear where series move together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from changepoint import Member, SharedChange, pooled
from pipeline.analyse.rules import Rules
from pipeline.analyse.shifts import MOST_LOST, first_possible
from pipeline.metrics import LEAST_CHANGE, is_worse
from pipeline.model import RegressionKind, Series, SeriesKey, Shift

SERIES_OF_A_RUN = 2
"""The fewest series that can move together."""

Setup = tuple[str, ...]


def shared_shifts(series: Sequence[Series], own: Iterable[Shift], rules: Rules) -> list[Shift]:
    """Return the shifts that show only in series measured by the same runs, taken together.

    ``own`` are the shifts that series show by themselves; they are not returned again.
    :func:`changepoint.pooled` finds where a group changes. A member takes part if its own 95 %
    interval excludes no change, and the change is large enough to be told.
    """
    known: dict[SeriesKey, list[Shift]] = {}
    for shift in own:
        known.setdefault(shift.series, []).append(shift)
    shifts = []
    for group in _groups(series):
        rows = sorted({(p.position, p.repetition) for one in group for p in one.points})
        found = pooled(
            {str(number): _values(one, rows) for number, one in enumerate(group)},
            positions=[position for position, _ in rows],
            alarms_per_1000=rules.alarms_per_1000(len(series)),
        )
        for change in found.changes:
            for member in change.members:
                one = group[int(member.name)]
                if _told(member, one, rules, len(series)):
                    shift = _shift(one, change, member)
                    shifts += [] if _known(shift, known.get(one.key, [])) else [shift]
    return shifts


def _groups(series: Sequence[Series]) -> list[list[Series]]:
    """Return the series that the same runs measured, where there are several.

    An SLA is kept or not; it has no level that could move a little.
    """
    groups: dict[Setup, list[Series]] = {}
    for one in series:
        key = one.key
        if key.metric != "sla":
            setup = (
                key.line,
                key.target,
                key.config,
                key.build_options,
                key.machine_class,
                key.workload_hash,
                str(key.clients),
            )
            groups.setdefault(setup, []).append(one)
    return [group for group in groups.values() if len(group) >= SERIES_OF_A_RUN]


def _values(series: Series, rows: Sequence[tuple[int, int]]) -> list[float | None]:
    by_row = {(point.position, point.repetition): point.value for point in series.points}
    return [by_row.get(row) for row in rows]


def _known(shared: Shift, own: Iterable[Shift]) -> bool:
    """Say whether a series shows this change by itself."""
    return any(shift.earliest <= shared.latest and shared.earliest <= shift.latest for shift in own)


def _told(member: Member, series: Series, rules: Rules, count: int) -> bool:
    metric = series.key.metric
    watch = rules.watch(series.key, count)
    low, high = member.effect_interval
    return (
        (low > 0.0 or high < 0.0)
        and abs(member.effect) >= watch.min_effect
        and abs(member.after.level - member.before.level) >= LEAST_CHANGE.get(metric, 0.0)
        and watch.tells(worse=is_worse(metric, member.effect))
    )


def _shift(series: Series, change: SharedChange, member: Member) -> Shift:
    labels = {point.position: point.revision for point in series.points}
    # The first revision from the change on that this series has, and the last one before it.
    position = min(place for place in labels if place >= int(change.position))
    earliest, latest = (int(label) for label in change.interval)
    return Shift(
        series=series.key,
        kind=RegressionKind.LEVEL,
        position=position,
        earliest=first_possible(min(earliest, position), sorted(labels)),
        latest=max(latest, position),
        last_good=labels[max(place for place in labels if place < position)],
        first_bad=labels[position],
        before=member.before.level,
        after=member.after.level,
        effect=member.effect,
        effect_low=max(member.effect_interval[0], MOST_LOST),
        effect_high=member.effect_interval[1],
        pvalue=change.pvalue,
        worse=is_worse(series.key.metric, member.effect),
    )
