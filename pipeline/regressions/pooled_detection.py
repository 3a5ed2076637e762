"""Pooled detection: changes that many series of the same runs share, each too weak alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from changepoint import Pooled, PooledMember, SharedChange, pooled
from pipeline.model import RegressionKind, SeriesKey, Shift
from pipeline.model.metrics import LEAST_CHANGE, is_worse
from pipeline.regressions.rules import Rules
from pipeline.regressions.search_cache import Once, compute_anew
from pipeline.regressions.shifts import MOST_LOST, first_possible
from pipeline.storage.series import Floats, Ints, Series

SERIES_OF_A_RUN = 2
"""Minimum number of series to pool."""

WINDOW = 400
"""Number of positions of a long line that are searched together. The windows overlap by half, so
every change but those at the ends has at least a quarter of a window on either side. The results of
a night change only the last window, so the others need not be searched again."""

Setup = tuple[str, ...]


class Window(NamedTuple):
    """A range of positions in a group of series, searched for changes that the series share.

    values: (rows, series), nan where missing; a row is a run. positions: (rows,). first, last: the
    window reports changes from position ``first`` to before ``last``; other changes belong to a
    neighbouring window.
    """

    values: Floats
    positions: Ints
    first: int
    last: int
    alarms_per_1000: float


def search_window(window: Window) -> Pooled:
    """Search a window for shared changes with :func:`changepoint.pooled`.

    Each change lists only the series that surely show it.
    """
    columns = {str(number): column for number, column in enumerate(window.values.T)}
    found = pooled(columns, positions=window.positions, alarms_per_1000=window.alarms_per_1000)
    # The other series would be most of what a night reads and writes.
    changes = (
        replace(change, members=tuple(filter(_shows, change.members))) for change in found.changes
    )
    return replace(found, changes=tuple(changes))


def _shows(member: PooledMember) -> bool:
    low, high = member.effect_interval
    return low > 0.0 or high < 0.0


def shared_shifts(
    series: Sequence[Series],
    own: Iterable[Shift],
    rules: Rules,
    once: Once = compute_anew,
) -> list[Shift]:
    """Return the shifts that show only when the series of the same runs are pooled.

    ``own`` are the shifts found in single series; they are not returned again. ``once`` may have
    the results of earlier nights. A series takes part in a shared change if its own 95 % interval
    excludes zero and the change is large enough to report.
    """
    known: dict[SeriesKey, list[Shift]] = {}
    for shift in own:
        known.setdefault(shift.series, []).append(shift)
    shifts = []
    for group in _groups(series):
        for window in _windows(group, rules.alarms_per_1000(len(series))):
            for change in _shared_changes(window, once):
                if not window.first <= int(change.position) < window.last:
                    continue
                for member in change.members:
                    one = group[int(member.name)]
                    if _reported(member, one, rules, len(series)):
                        shift = _shift(one, change, member)
                        shifts += [] if _known(shift, known.get(one.key, [])) else [shift]
    return shifts


def _shared_changes(window: Window, once: Once) -> Sequence[SharedChange]:
    """Return the changes that the series of a window share."""
    parts = (
        "window",
        str(window.alarms_per_1000),
        window.positions.tobytes(),
        window.values.tobytes(),
    )
    found = once(parts, lambda: search_window(window).to_dict())
    return Pooled.from_dict(found).changes


def setup_of(key: SeriesKey) -> Setup:
    """Return the key that all series measured by the same runs have in common."""
    return (
        key.line,
        key.target,
        key.config,
        key.build_options,
        key.machine_class,
        key.workload_hash,
        str(key.clients),
    )


def _groups(series: Sequence[Series]) -> list[list[Series]]:
    """Group the series that the same runs measured; drop groups of one.

    SLA series are left out: an SLA is met or missed, so its level cannot move a little.
    """
    groups: dict[Setup, list[Series]] = {}
    for one in series:
        if one.key.metric != "sla":
            groups.setdefault(setup_of(one.key), []).append(one)
    return [group for group in groups.values() if len(group) >= SERIES_OF_A_RUN]


def _windows(group: Sequence[Series], alarms_per_1000: float) -> Iterator[Window]:
    """Yield the windows of a group of series: the whole line, or parts of it that overlap."""
    values, rows = _table(group)
    positions, begins = np.unique(rows, return_index=True)
    bounds = np.append(begins, len(rows))
    start = 0
    while start < len(positions):
        stop = min(start + WINDOW, len(positions))
        last = stop == len(positions)
        part = slice(bounds[start], bounds[stop])
        yield Window(
            values[part],
            rows[part],
            int(positions[start + WINDOW // 4 if start else 0]),
            int(positions[-1]) + 1 if last else int(positions[stop - WINDOW // 4]),
            alarms_per_1000,
        )
        if last:
            return
        start += WINDOW // 2


def _table(group: Sequence[Series]) -> tuple[Floats, Ints]:
    """Return the values of series as a table (runs, series), nan if missing, and the positions.

    A row is a repetition at a position.
    """
    most = 1 + max((int(one.runs.repetitions.max(initial=0)) for one in group), default=0)
    codes = [one.positions * most + one.runs.repetitions[one.at] for one in group]
    # Most series of a group have the same runs.
    alike = [np.array_equal(code, codes[0]) for code in codes]
    others = [code for code, same in zip(codes, alike, strict=True) if not same]
    rows = np.unique(np.concatenate([codes[0], *others]))
    first = np.searchsorted(rows, codes[0])
    values = np.full((len(rows), len(group)), np.nan)
    for column, (one, code, same) in enumerate(zip(group, codes, alike, strict=True)):
        values[first if same else np.searchsorted(rows, code), column] = one.values
    return values, rows // most


def _known(shared: Shift, own: Iterable[Shift]) -> bool:
    """Whether detection has already found this shared change in a single series."""
    return any(shift.earliest <= shared.latest and shared.earliest <= shift.latest for shift in own)


def _reported(member: PooledMember, series: Series, rules: Rules, count: int) -> bool:
    metric = series.key.metric
    watch = rules.settings_of(series.key, count)
    return (
        abs(member.effect) >= watch.min_effect
        and abs(member.after.level - member.before.level) >= LEAST_CHANGE.get(metric, 0.0)
        and watch.reports(worse=is_worse(metric, member.effect))
    )


def _shift(series: Series, change: SharedChange, member: PooledMember) -> Shift:
    positions = series.positions
    # The series' first revision at or after the change, and its last revision before.
    at = int(np.searchsorted(positions, int(change.position)))
    position = int(positions[at])
    earliest, latest = (int(label) for label in change.interval)
    return Shift(
        series=series.key,
        kind=RegressionKind.LEVEL,
        position=position,
        earliest=first_possible(min(earliest, position), positions),
        latest=max(latest, position),
        last_good=series.revision(at - 1),
        first_bad=series.revision(at),
        before=member.before.level,
        after=member.after.level,
        effect=member.effect,
        effect_low=max(member.effect_interval[0], MOST_LOST),
        effect_high=member.effect_interval[1],
        pvalue=change.pvalue,
        worse=is_worse(series.key.metric, member.effect),
    )
