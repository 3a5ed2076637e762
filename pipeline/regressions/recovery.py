"""Recovery: decide from later measurements whether a regression is gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from changepoint import compare, exact_effect, is_exact_change
from changepoint.comparison.verdict import Better, Verdict
from pipeline.config import DetectSection
from pipeline.model import Regression, RegressionKind, SeriesKey, Shift
from pipeline.model.counts import FLOOR
from pipeline.model.metrics import is_worse
from pipeline.regressions.counted import is_counted
from pipeline.regressions.grouping import effect_size
from pipeline.regressions.search_cache import Once, compute_anew
from pipeline.storage.series import Floats, Series

RECENT = 3
"""Number of newest positions that represent the present level, if no change point marks its
beginning. A single position may be a good night by chance."""


NEWEST_RUNS = 200
"""Maximum number of runs of a level that are compared (the newest ones). More runs hardly narrow
the interval, and a long line has more than :func:`changepoint.compare` accepts."""


class LevelPair(NamedTuple):
    """The newest values before a regression and now, and the smallest effect to detect."""

    old: Floats
    new: Floats
    smallest: float
    better: Better


def compare_levels(levels: LevelPair) -> Verdict:
    """Test whether two levels of a series differ, with :func:`changepoint.compare`."""
    return compare(
        levels.old, levels.new, smallest_effect=levels.smallest, better=levels.better
    ).verdict


def recovered(
    regression: Regression,
    series: Mapping[SeriesKey, Series],
    later: Mapping[SeriesKey, Sequence[Shift]],
    settings: DetectSection,
    once: Once = compute_anew,
) -> bool:
    """Whether all series of a regression are back at the level before it.

    The series with the largest change must be surely at the old level, within the smallest change
    of interest, or better; no other series may be surely worse. The present level begins at the
    last of the ``later`` shifts of a series; without one, it consists of the newest ``RECENT``
    positions. A spread recovers only by a change point, a creep once the newest positions are at
    the level of its anchor. ``once`` may have the comparisons of earlier nights.
    """
    kind = regression.kind
    if kind is RegressionKind.SPREAD:
        largest = max(regression.shifts, key=effect_size)
        return any(
            shift.kind is kind and shift.position > largest.position and not shift.worse
            for shift in later.get(largest.series, ())
        )
    measured = [shift for shift in regression.shifts if shift.series in series]
    # One by one, the largest first: it decides alone where a regression is still there, as most
    # are, and a comparison takes some hundredths of a second.
    verdicts = (
        _verdict(
            shift,
            series[shift.series],
            [each for each in later.get(shift.series, ()) if each.kind is kind],
            _smallest(shift, settings),
            once,
        )
        for shift in sorted(measured, key=effect_size, reverse=True)
    )
    return next(verdicts, "worse") in ("same", "better") and all(
        verdict != "worse" for verdict in verdicts
    )


def _smallest(shift: Shift, settings: DetectSection) -> float:
    """Return the smallest change that counts; for a creep, at most half of the creep threshold."""
    smallest = settings.smallest(shift.series.mode)
    return min(smallest, settings.creep / 2) if shift.kind is RegressionKind.CREEP else smallest


def fix_of(regression: Regression, found: Sequence[Regression]) -> Regression | None:
    """Return the last improvement after a regression in one of its series: the likely fix."""
    extent = {shift.series for shift in regression.shifts}
    behind = [
        one
        for one in found
        if not one.worse
        and one.position > regression.position
        and extent & {shift.series for shift in one.shifts}
    ]
    return max(behind, key=lambda one: one.position, default=None)


def _verdict(
    shift: Shift,
    series: Series,
    changes: Sequence[Shift],
    smallest: float,
    once: Once,
) -> Verdict:
    if is_counted(shift.series):
        return _counted_verdict(shift, series, smallest)
    places = series.measured.tolist()
    better: Better = "lower" if is_worse(series.key.metric, 1.0) else "higher"
    if shift.kind is RegressionKind.CREEP:
        at = [place for place in places if place >= shift.earliest - 1]
        if len(at) < 2 * RECENT:
            return "undecided"
        old = _values(series, at[0], at[RECENT])
        new = _values(series, at[-RECENT], at[-1] + 1)
        return _compared(LevelPair(old, new, smallest, better), once)
    own = [each.position for each in changes]
    before = [place for place in own if place < shift.position]
    after = [place for place in own if place > shift.position]
    if after:
        since = max(after)
    else:
        recent = places[-RECENT:]
        # The recent positions must all lie after the change; otherwise they may be at the old
        # level.
        if len(recent) < RECENT or recent[0] <= shift.latest:
            return "undecided"
        since = recent[0]
    old = _values(series, max(before, default=places[0]), shift.position)
    new = _values(series, since, places[-1] + 1)
    if not len(old) or not len(new):
        return "undecided"
    return _compared(LevelPair(old, new, smallest, better), once)


def _compared(levels: LevelPair, once: Once) -> Verdict:
    parts = (
        "levels",
        levels.better,
        repr(levels.smallest),
        levels.old.tobytes(),
        levels.new.tobytes(),
    )
    verdict: Verdict = once(parts, lambda: compare_levels(levels))
    return verdict


def _counted_verdict(shift: Shift, series: Series, smallest: float) -> Verdict:
    """Compare the newest instruction count with the one before a shift; counts are exact."""
    places = series.positions
    newest = int(places[-1])
    if newest <= shift.latest:
        return "undecided"
    effect = exact_effect(shift.before, float(np.median(series.values[places == newest])))
    if not is_exact_change(effect, floor=FLOOR, min_effect=smallest):
        return "same"
    return "worse" if is_worse(series.key.metric, effect) else "better"


def _values(series: Series, first: int, stop: int) -> Floats:
    """Return the newest values at one level of a series, in order of their positions."""
    first_at, stop_at = np.searchsorted(series.positions, (first, stop)).tolist()
    return series.values[first_at:stop_at][-NEWEST_RUNS:]
