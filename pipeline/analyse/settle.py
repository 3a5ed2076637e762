"""After every detection and every decision: journal, detection and store say the same again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import Engine

from pipeline.analyse.detection import Detected, kept_detection, save_detected
from pipeline.analyse.identity import bounds, identify, placed
from pipeline.analyse.outcomes import Outcome, read_outcomes
from pipeline.analyse.recovery import fix_of, recovered
from pipeline.analyse.states import Histories, History, histories
from pipeline.execute.plan import Plan
from pipeline.journal import Event, EventKind, Journal
from pipeline.model import Regression, RegressionState, Series, SeriesKey
from pipeline.store.regressions import RegressionRow, write_regressions


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


def refresh(results: Path, store: Engine, at: datetime) -> Detected | None:
    """Bring what is derived from the journal up to date; return the detection, if there is one.

    Outcomes of experiments that ended since, and acknowledgements that expired, are taken into the
    journal first.
    """
    journal = Journal(results)
    known = histories(journal.read())
    journal.append(_news(known, read_outcomes(results), at))
    detected = kept_detection(results)
    if detected is not None:
        detected = detected.model_copy(update={"regressions": _stated(detected.regressions, known)})
        save_detected(detected, results)
    current = {one.fingerprint: one for one in detected.regressions} if detected else {}
    write_regressions(store, [_row(history, current, known) for history in known.values()])
    return detected


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


def _news(known: Histories, outcomes: Mapping[str, Outcome], at: datetime) -> list[Event]:
    """Return what happened since, and let it happen to ``known``."""
    events = []
    for name, outcome in outcomes.items():
        history = known.get(outcome.fingerprint)
        if history is None or _taken(history, name, outcome):
            continue
        events.append(
            Event(
                at=outcome.at,
                event=outcome.event,
                fingerprint=outcome.fingerprint,
                experiment=name,
                reason=outcome.reason,
                blocks=outcome.blocks,
                minutes=outcome.minutes,
            )
        )
        history.add(events[-1])
    for fingerprint, history in known.items():
        if history.expires is not None and history.expires < at.date():
            events.append(Event(at=at, event=EventKind.EXPIRED, fingerprint=fingerprint))
            history.add(events[-1])
    return events


def _taken(history: History, name: str, outcome: Outcome) -> bool:
    """Say whether the journal has this outcome, whatever was decided since."""
    return any(event.experiment == name and event.at == outcome.at for event in history.events)


def _stated(regressions: Sequence[Regression], known: Histories) -> tuple[Regression, ...]:
    """Return regressions with what the journal says of those that it knows."""
    made_good = {
        history.decided.recovery: fingerprint
        for fingerprint, history in known.items()
        if history.state is RegressionState.RESOLVED and history.decided is not None
    }
    return tuple(
        one.model_copy(
            update={
                "state": known[one.fingerprint].state,
                "recovers": made_good.get(one.fingerprint, ""),
                "culprit": known[one.fingerprint].culprit,
            }
        )
        if one.fingerprint in known
        else one
        for one in regressions
    )


def _row(history: History, current: Mapping[str, Regression], known: Histories) -> RegressionRow:
    (kept,) = _stated([history.regression], known)
    return RegressionRow(
        regression=current.get(kept.fingerprint, kept),
        reason=history.reason,
        note=history.note,
        expires=history.expires,
        events=history.events,
    )
