from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pipeline.model import RegressionState
from pipeline.notify.base import DecisionKind, PersonDecision
from pipeline.notify.base.decisions import take_decisions
from pipeline.regressions.states import known_regressions
from pipeline.storage.journal import Event, EventKind
from tests.notify.samples import OTHER, WORSE

BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
ACK, WONT_FIX, REOPENED = DecisionKind


def event(kind: EventKind, hour: int, by: str = "nightshift") -> Event:
    at = BEGAN + timedelta(hours=hour)
    return Event(at=at, event=kind, fingerprint=WORSE.fingerprint, by=by)


FOUND = event(EventKind.FOUND, 0).model_copy(update={"regression": WORSE})
CONFIRMED = event(EventKind.CONFIRMED, 1)


def decision(
    kind: DecisionKind, hour: int, by: str = "me", of: str = WORSE.fingerprint
) -> PersonDecision:
    at = BEGAN + timedelta(hours=hour)
    return PersonDecision(fingerprint=of, kind=kind, by=by, at=at, note="labelled")


def test_decisions_become_events_by_the_person() -> None:
    known = known_regressions([FOUND, CONFIRMED])
    (taken,) = take_decisions([decision(ACK, 2)], known)
    assert (taken.event, taken.by, taken.note) == (EventKind.ACKNOWLEDGED, "me", "labelled")
    assert taken.at == BEGAN + timedelta(hours=2)
    assert known[WORSE.fingerprint].state is RegressionState.ACKNOWLEDGED


def test_they_are_taken_in_their_order_whatever_sink_they_come_from() -> None:
    known = known_regressions([FOUND, CONFIRMED])
    taken = take_decisions([decision(REOPENED, 3, "you"), decision(WONT_FIX, 2)], known)
    assert [each.event for each in taken] == [EventKind.WONT_FIX, EventKind.REOPENED]
    assert known[WORSE.fingerprint].state is RegressionState.CONFIRMED


def test_each_is_taken_once_however_often_it_is_read() -> None:
    happened = [FOUND, CONFIRMED, *take_decisions([decision(ACK, 2)], known_regressions([FOUND]))]
    again = known_regressions(happened)
    assert take_decisions([decision(ACK, 2)], again) == []
    # Another one by the same person is another.
    assert len(take_decisions([decision(ACK, 3)], again)) == 1


def test_what_the_state_does_not_allow_is_ignored() -> None:
    known = known_regressions([FOUND, CONFIRMED])
    assert take_decisions([decision(REOPENED, 2)], known) == []
    assert take_decisions([decision(ACK, 2, of=OTHER.fingerprint)], known) == []
    assert known[WORSE.fingerprint].state is RegressionState.CONFIRMED


def test_what_was_decided_later_elsewhere_holds() -> None:
    happened = [FOUND, CONFIRMED, event(EventKind.WONT_FIX, 5, by="you")]
    assert take_decisions([decision(ACK, 2)], known_regressions(happened)) == []
    assert take_decisions([decision(REOPENED, 2)], known_regressions(happened)) == []
    assert len(take_decisions([decision(REOPENED, 6)], known_regressions(happened))) == 1


def test_a_measurement_does_not_overtake_a_person() -> None:
    happened = [FOUND, event(EventKind.CONFIRMED, 5)]
    assert len(take_decisions([decision(ACK, 2)], known_regressions(happened))) == 1


def test_what_was_reopened_before_it_recovered_is_gone_all_the_same() -> None:
    happened = [FOUND, CONFIRMED, event(EventKind.RESOLVED, 5)]
    assert take_decisions([decision(REOPENED, 2)], known_regressions(happened)) == []
    assert len(take_decisions([decision(REOPENED, 6)], known_regressions(happened))) == 1
