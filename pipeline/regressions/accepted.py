"""Compare series with their last accepted levels: what people have decided to live with.

The accepted level of a series is the one after the newest change that a person acknowledged or
marked as won't fix, with the decision's note as its reason. Without such a change it is the level
at the anchor of the line, which a decision about a creep moves. Decisions are in the journal, so
the levels follow from journal and measurements and are stored nowhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple

import numpy as np

from pipeline.model import RegressionKind, RegressionState, SeriesKey
from pipeline.model.metrics import is_worse
from pipeline.regressions.anchors import ACCEPTED as CREEP_ACCEPTED
from pipeline.regressions.anchors import Anchors
from pipeline.regressions.states import KnownRegression
from pipeline.storage.series import Series

ACCEPTED = {RegressionState.ACKNOWLEDGED, RegressionState.WONT_FIX}
"""States of a change whose new level is accepted. A resolved one has lost its new level."""

FIRST = 5
"""Number of positions from an accepted revision on whose median is its level. More of them would
follow a slow drift."""


class AcceptedLevel(NamedTuple):
    """The level that a series is compared with, and the decision that set it, if there is one.

    ``revision`` is the first one with this level.
    """

    value: float
    position: int
    revision: str
    fingerprint: str = ""
    by: str = ""
    at: datetime | None = None
    note: str = ""


class DayValue(NamedTuple):
    """The median of a series at the newest revision that a day measured.

    ``change`` is relative to the accepted level, ``tone`` says whether it is beyond the smallest
    change of interest.
    """

    revision: str
    value: float
    change: float
    tone: str


class SeriesStatus(NamedTuple):
    """A series with its accepted level, and its values by day."""

    key: SeriesKey
    level: AcceptedLevel
    days: Mapping[date, DayValue]

    @property
    def newest(self) -> DayValue:
        """The value of the last day."""
        return self.days[max(self.days)]


def accepted_level(
    series: Series, known: Iterable[KnownRegression], positions: Mapping[str, int], anchor: int
) -> AcceptedLevel | None:
    """Return the accepted level of a series; None without values from the accepted revision on.

    ``positions`` are those of the line's revisions by label, ``anchor`` is that of the line.
    """
    decided: KnownRegression | None = None
    start, changes = anchor, []
    for one in known:
        found = one.regression
        if found.line != series.key.line:
            continue
        if found.kind is RegressionKind.CREEP:
            # The decision that moved the anchor of the line.
            if one.state in CREEP_ACCEPTED and positions.get(found.first_bad) == start:
                decided = decided or one
            continue
        for shift in found.shifts:
            position = positions.get(shift.first_bad)
            if shift.series != series.key or position is None:
                continue
            if one.state is not RegressionState.REJECTED:
                changes.append(position)
            level = found.kind is RegressionKind.LEVEL
            if level and one.state in ACCEPTED and position >= start:
                start, decided = position, one
    end = min((position for position in changes if position > start), default=None)
    places = series.measured
    places = places[places >= start]
    if end is not None:
        places = places[places < end]
    if not len(places):
        return None
    chosen = np.isin(series.positions, places[:FIRST])
    event = decided.decided if decided is not None else None
    return AcceptedLevel(
        value=float(np.median(series.values[chosen])),
        position=int(places[0]),
        revision=series.revision(int(np.flatnonzero(chosen)[0])),
        fingerprint=decided.regression.fingerprint if decided is not None else "",
        by=event.by if event is not None else "",
        at=event.at if event is not None else None,
        note=event.note if event is not None else "",
    )


def statuses(
    series: Sequence[Series],
    known: Collection[KnownRegression],
    positions: Mapping[str, Mapping[str, int]],
    anchors: Anchors,
    measured_on: Mapping[str, date],
    smallest: Mapping[SeriesKey, float],
) -> list[SeriesStatus]:
    """Return the status of every series that has an accepted level.

    ``positions`` are those of the revisions of each line. ``measured_on`` is the day of each run,
    ``smallest`` the smallest change of interest of each series.
    """
    found = []
    for one in series:
        line = one.key.line
        level = accepted_level(one, known, positions[line], anchors[line])
        if level is not None and level.value != 0.0:
            days = _days(one, level, measured_on, smallest[one.key])
            found.append(SeriesStatus(one.key, level, days))
    return found


def _days(
    series: Series, level: AcceptedLevel, measured_on: Mapping[str, date], smallest: float
) -> dict[date, DayValue]:
    """Return the value of every day: of the newest revision, as a backfill measures older ones."""
    runs: dict[date, list[int]] = {}
    for at, run_id in enumerate(series.run_ids):
        runs.setdefault(measured_on[run_id], []).append(at)
    found = {}
    for day, own in sorted(runs.items()):
        newest = int(series.positions[own].max())
        places = [at for at in own if series.positions[at] == newest]
        value = float(np.median(series.values[places]))
        change = value / level.value - 1.0
        worse = is_worse(series.key.metric, change)
        tone = "" if abs(change) < smallest else "worse" if worse else "better"
        found[day] = DayValue(series.revision(places[0]), value, change, tone)
    return found
