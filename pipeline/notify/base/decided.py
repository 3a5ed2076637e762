"""What people decided where they were told, as events of the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pipeline.analyse.states import Histories, History
from pipeline.journal import PIPELINE, Event, EventKind
from pipeline.notify.base import Decision, DecisionKind

_EVENTS: Mapping[DecisionKind, EventKind] = {
    DecisionKind.ACKNOWLEDGED: EventKind.ACKNOWLEDGED,
    DecisionKind.WONT_FIX: EventKind.WONT_FIX,
    DecisionKind.REOPENED: EventKind.REOPENED,
}


def take_decisions(decisions: Iterable[Decision], known: Histories) -> list[Event]:
    """Return the events of decisions, oldest first, and let them happen to ``known``.

    Passed over are those of a regression that nobody knows, those that its state does not allow,
    those that were taken before, and those that something later overtook: what a person decided
    meanwhile, and for a reopening whatever closed it since.
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


def _taken(event: Event, history: History) -> bool:
    return any(
        (each.event, each.at, each.by) == (event.event, event.at, event.by)
        for each in history.events
    )


def _overtaken(event: Event, history: History) -> bool:
    last = history.decided
    return (
        last is not None
        and last.at > event.at
        and (last.by != PIPELINE or event.event is EventKind.REOPENED)
    )
