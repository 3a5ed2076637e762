"""Turn what people decide in issues and other sinks into events of the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pipeline.notify.base import DecisionKind, PersonDecision
from pipeline.regressions.states import KnownRegression, KnownRegressions
from pipeline.storage.journal import PIPELINE, Event, EventKind

_EVENTS: Mapping[DecisionKind, EventKind] = {
    DecisionKind.ACKNOWLEDGED: EventKind.ACKNOWLEDGED,
    DecisionKind.WONT_FIX: EventKind.WONT_FIX,
    DecisionKind.REOPENED: EventKind.REOPENED,
}


def take_decisions(decisions: Iterable[PersonDecision], known: KnownRegressions) -> list[Event]:
    """Return people's decisions as journal events, oldest first, and apply them to ``known``.

    The function skips decisions about unknown regressions, decisions that the state does not allow,
    and decisions that the journal has already. It also skips a decision that a newer one replaces,
    and a reopening before the regression was last closed.
    """
    events = []
    for decision in sorted(decisions, key=lambda decision: decision.at):
        history = known.get(decision.fingerprint)
        event = Event(
            at=decision.at,
            event=_EVENTS[decision.kind],
            fingerprint=decision.fingerprint,
            by=decision.by,
            note=decision.note,
        )
        if history is None or _taken(event, history) or _overtaken(event, history):
            continue
        if history.allows(event.event):
            history.add(event)
            events.append(event)
    return events


def _taken(event: Event, history: KnownRegression) -> bool:
    return any(
        (each.event, each.at, each.by) == (event.event, event.at, event.by)
        for each in history.events
    )


def _overtaken(event: Event, history: KnownRegression) -> bool:
    last = history.decided
    return (
        last is not None
        and last.at > event.at
        and (last.by != PIPELINE or event.event is EventKind.REOPENED)
    )
