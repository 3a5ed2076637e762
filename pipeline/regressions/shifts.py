"""Find the changes of one series, as shifts: from the last good revision to the first bad one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from changepoint import ChangePoint, Detection, SharedNoise, detect
from pipeline.model import RegressionKind, Shift
from pipeline.model.metrics import LEAST_CHANGE, is_worse
from pipeline.regressions.counted import counted_changes, is_counted
from pipeline.regressions.rules import DetectionSettings
from pipeline.regressions.watched import SLA
from pipeline.storage.derive.background import SUSTAINED
from pipeline.storage.series import Ints, Series

MOST_LOST = -1.0
"""Lower limit of a relative effect. Figures are never negative, so a loss cannot exceed the whole;
intervals from a normal approximation are clipped at this limit."""


class KnownNoise(NamedTuple):
    """The noise of a series as learned from other series; None where that is impossible.

    ``shared`` is the noise of a single value, for short series. ``autocorrelation`` is the
    correlation between neighbouring nights.
    """

    shared: SharedNoise | None = None
    autocorrelation: float | None = None


NOTHING_SHARED: KnownNoise = KnownNoise()
"""Nothing is known from other series, so a series is judged by its own noise."""


def detect_in(
    series: Series, watch: DetectionSettings, noise: KnownNoise = NOTHING_SHARED
) -> Detection:
    """Search one timed series for changes, with its detection settings and shared noise, if any."""
    return detect(
        series.values,
        positions=series.positions,
        alarms_per_1000=watch.alarms_per_1000,
        min_effect=watch.min_effect,
        method=watch.method,
        noise=noise.shared,
        autocorrelation=noise.autocorrelation,
    )


class SearchedSeries(NamedTuple):
    """The shifts of one series, and the smallest change that its newest revisions could show.

    ``detectable`` is relative; None for a counted series, infinite if no change could be shown.
    """

    shifts: list[Shift]
    detectable: float | None


def search_series(
    series: Series, watch: DetectionSettings, noise: KnownNoise = NOTHING_SHARED
) -> SearchedSeries:
    """Return the change points of one series as shifts between revisions.

    The function leaves out changes that are too small, relative to the level before
    (``min_effect``) or in the metric's unit (that level may be zero); changes in a direction that
    is not watched; and SLA changes that leave the SLA met, or missed, as before.
    """
    detectable = None
    if is_counted(series.key):
        changes = counted_changes(series, watch.min_effect)
    else:
        found = detect_in(series, watch, noise)
        changes, detectable = found.changes, max(found.detectable_fresh, watch.min_effect)
    shifts = [
        _spread(series, change) if change.kind == "spread" else _level(series, change)
        for change in changes
        if change.kind == "level" or _loud(change, watch.min_effect)
    ]
    kept = [shift for shift in shifts if watch.reports(worse=shift.worse) and _counts(shift)]
    return SearchedSeries(kept, detectable)


def _loud(change: ChangePoint, smallest: float) -> bool:
    """Whether the noise on one side of a change is at least the smallest change to report."""
    return any(
        level.spread >= smallest * abs(level.level) for level in (change.before, change.after)
    )


def _counts(shift: Shift) -> bool:
    """Whether a change is large enough to report, or an SLA was newly met or missed."""
    if shift.kind is RegressionKind.SLA:
        return (shift.before < SUSTAINED) is not (shift.after < SUSTAINED)
    least = LEAST_CHANGE.get(shift.series.metric, 0.0)
    return shift.kind is RegressionKind.SPREAD or abs(shift.after - shift.before) >= least


def _level(series: Series, change: ChangePoint) -> Shift:
    kind = RegressionKind.SLA if series.key.metric == SLA else RegressionKind.LEVEL
    worse = is_worse(series.key.metric, change.effect)
    return _shift(series, change, kind, change.before.level, change.after.level, worse=worse)


def _spread(series: Series, change: ChangePoint) -> Shift:
    """Return a change of the spread of a series as a shift; less spread is always better."""
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
    positions = series.positions
    position = int(positions[change.index])
    earliest, latest = change.interval
    return Shift(
        series=series.key,
        kind=kind,
        position=position,
        earliest=first_possible(int(earliest), positions),
        latest=int(latest),
        last_good=series.revision(change.index - 1),
        first_bad=series.revision(change.index),
        before=before,
        after=after,
        effect=change.effect,
        effect_low=max(change.effect_interval[0], MOST_LOST),
        effect_high=change.effect_interval[1],
        pvalue=change.pvalue,
        worse=worse,
    )


def first_possible(earliest: int, measured: Ints) -> int:
    """Return the earliest position that may be the first bad revision of a shift.

    ``measured`` has the positions of the series in ascending order, ``earliest`` is the first of
    them that may be bad. Positions between it and the previous measured one may be bad too, if only
    series of other machines measured them.
    """
    at = int(np.searchsorted(measured, earliest))
    return int(measured[at - 1]) + 1 if at else earliest
