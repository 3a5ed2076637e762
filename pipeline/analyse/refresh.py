"""After every decision and experiment: journal, detection and store say the same again.

Nothing is searched here, so that verbs that only look do not wait for the search's libraries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import Engine

from pipeline.analyse.detected import Detected, kept_detection, save_detected
from pipeline.analyse.outcomes import Outcome, read_outcomes
from pipeline.analyse.states import Histories, History, histories
from pipeline.journal import Event, EventKind, Journal
from pipeline.model import Regression, RegressionState
from pipeline.store.regressions import RegressionRow, write_regressions


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
