"""After every detection: journal, detection and store say the same again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import Engine

from pipeline.analyse.detected import Detected, save_detected
from pipeline.analyse.identity import bounds, identify, placed
from pipeline.analyse.recovery import fix_of, recovered
from pipeline.analyse.refresh import refresh
from pipeline.analyse.states import Histories, histories
from pipeline.execute.plan import Plan
from pipeline.journal import Event, EventKind, Journal
from pipeline.model import Regression, Series, SeriesKey


def settle(
    detected: Detected,
    plan: Plan,
    series: Sequence[Series],
    smallest: float,
    results: Path,
    store: Engine,
    at: datetime,
) -> Detected:
    """Take what was detected into the journal, and return it with fingerprints and states.

    ``series`` are those that were searched, ``smallest`` the smallest change of interest. What is
    new becomes a suspected regression, what was known is recognised, and what has recovered is
    resolved. The detection is saved and the tables of the store are brought up to date.
    """
    journal = Journal(results)
    named, fresh = night_of(detected, plan, series, journal.read(), smallest, at)
    journal.append(fresh)
    save_detected(named, results)
    return refresh(results, store, at) or named


def night_of(
    detected: Detected,
    plan: Plan,
    series: Sequence[Series],
    happened: Sequence[Event],
    smallest: float,
    at: datetime,
) -> tuple[Detected, list[Event]]:
    """Return a detection with the fingerprints that are known, and what is new in the journal.

    ``happened`` is what the journal holds. The other arguments are those of :func:`settle`.
    """
    known = histories(happened)
    named = identify(detected.regressions, known, plan)
    fresh = [event for one in named if (event := _found(one, known, plan, at)) is not None]
    known = histories([*happened, *fresh])
    fresh += _resolutions(named, known, plan, series, smallest, at)
    return detected.model_copy(update={"regressions": named}), fresh


def _found(regression: Regression, known: Histories, plan: Plan, at: datetime) -> Event | None:
    """Return the event of a regression that is new, or whose place or extent is."""
    between = bounds(regression, plan)
    history = known.get(regression.fingerprint)
    if history is not None:
        old = history.regression
        if (old.last_good, old.first_bad, history.bounds, _extent(old)) == (
            regression.last_good,
            regression.first_bad,
            between,
            _extent(regression),
        ):
            return None
    return Event(
        at=at,
        event=EventKind.FOUND,
        fingerprint=regression.fingerprint,
        regression=regression,
        before=between.before,
        earliest=between.earliest,
        latest=between.latest,
    )


def _extent(regression: Regression) -> frozenset[SeriesKey]:
    return frozenset(shift.series for shift in regression.shifts)


def _resolutions(
    found: Sequence[Regression],
    known: Histories,
    plan: Plan,
    series: Sequence[Series],
    smallest: float,
    at: datetime,
) -> list[Event]:
    """Resolve what has recovered, with the improvement that did it if one was found."""
    by_key = {one.key: one for one in series}
    shifts = [shift for one in found for shift in one.shifts]
    events = []
    for fingerprint, history in known.items():
        regression = placed(history.regression, plan)
        if (
            regression is not None
            and regression.worse
            and history.allows(EventKind.RESOLVED)
            and recovered(regression, by_key, shifts, smallest)
        ):
            fix = fix_of(regression, found)
            event = Event(
                at=at,
                event=EventKind.RESOLVED,
                fingerprint=fingerprint,
                note=f"back since {fix.first_bad}" if fix else "back at the newest revisions",
                recovery=fix.fingerprint if fix else "",
            )
            history.add(event)
            events.append(event)
    return events
