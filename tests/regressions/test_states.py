"""Every state meets every event."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from pipeline.model import RegressionState
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.states import TRANSITIONS, Bounds, KnownRegression, known_regressions
from pipeline.storage.journal import Event, EventKind
from pipeline.text.errors import UserError
from tests.regressions.samples import shift

S, E = RegressionState, EventKind
AT = datetime(2026, 3, 1, tzinfo=UTC)
(REGRESSION,) = group_shifts([shift(5)])

WAYS = {
    S.SUSPECTED: [],
    S.CONFIRMED: [E.CONFIRMED],
    S.REJECTED: [E.REJECTED],
    S.ACKNOWLEDGED: [E.ACKNOWLEDGED],
    S.RESOLVED: [E.RESOLVED],
    S.WONT_FIX: [E.WONT_FIX],
}
"""How each state is reached from suspected."""

AFTER = {
    S.SUSPECTED: {
        E.CONFIRMED: S.CONFIRMED,
        E.REJECTED: S.REJECTED,
        E.ACKNOWLEDGED: S.ACKNOWLEDGED,
        E.WONT_FIX: S.WONT_FIX,
        E.RESOLVED: S.RESOLVED,
    },
    S.CONFIRMED: {
        E.CONFIRMED: S.CONFIRMED,
        E.REJECTED: S.REJECTED,
        E.ACKNOWLEDGED: S.ACKNOWLEDGED,
        E.WONT_FIX: S.WONT_FIX,
        E.RESOLVED: S.RESOLVED,
    },
    S.REJECTED: {E.CONFIRMED: S.CONFIRMED, E.REJECTED: S.REJECTED, E.REOPENED: S.SUSPECTED},
    S.ACKNOWLEDGED: {
        E.CONFIRMED: S.ACKNOWLEDGED,
        E.REJECTED: S.REJECTED,
        E.ACKNOWLEDGED: S.ACKNOWLEDGED,
        E.EXPIRED: S.SUSPECTED,
        E.REOPENED: S.SUSPECTED,
        E.WONT_FIX: S.WONT_FIX,
        E.RESOLVED: S.RESOLVED,
    },
    S.RESOLVED: {
        E.CONFIRMED: S.RESOLVED,
        E.REJECTED: S.RESOLVED,
        E.REOPENED: S.SUSPECTED,
    },
    S.WONT_FIX: {
        E.CONFIRMED: S.WONT_FIX,
        E.REJECTED: S.WONT_FIX,
        E.REOPENED: S.SUSPECTED,
        E.RESOLVED: S.RESOLVED,
    },
}
"""Where nothing was measured before; found, undecided and bisected leave every state as it is."""


def event(kind: EventKind, **fields: object) -> Event:
    found = {"regression": REGRESSION} if kind is E.FOUND else {}
    return Event.model_validate({"at": AT, "event": kind, "fingerprint": "f", **found, **fields})


def after(*kinds: EventKind) -> KnownRegression:
    return known_regressions([event(E.FOUND), *(event(kind) for kind in kinds)])["f"]


@pytest.mark.parametrize("state", RegressionState)
@pytest.mark.parametrize("kind", EventKind)
def test_every_state_meets_every_event(state: RegressionState, kind: EventKind) -> None:
    history = after(*WAYS[state])
    assert history.state is state
    expected = state if kind in (E.FOUND, E.UNDECIDED, E.BISECTED) else AFTER[state].get(kind)
    assert history.allows(kind) is (expected is not None) is ((state, kind) in TRANSITIONS)
    if expected is None:
        with pytest.raises(UserError, match=f"regression f is {state.value}, so it cannot become"):
            history.add(event(kind))
        return
    history.add(event(kind))
    assert history.state is expected


@pytest.mark.parametrize("decision", [E.ACKNOWLEDGED, E.WONT_FIX, E.RESOLVED])
@pytest.mark.parametrize(
    ("measured", "state"),
    [
        ([E.CONFIRMED], S.CONFIRMED),
        ([E.REJECTED, E.CONFIRMED], S.CONFIRMED),
        ([E.UNDECIDED], S.SUSPECTED),
        ([E.REJECTED, E.REOPENED], S.SUSPECTED),
    ],
)
def test_what_is_reopened_stands_where_it_was_measured(
    decision: EventKind, measured: list[EventKind], state: RegressionState
) -> None:
    assert after(*measured, decision, E.REOPENED).state is state


def test_what_is_measured_under_a_decision_counts_when_it_ends() -> None:
    assert after(E.ACKNOWLEDGED, E.CONFIRMED, E.EXPIRED).state is S.CONFIRMED
    assert after(E.WONT_FIX, E.REJECTED, E.REOPENED).state is S.REJECTED


def test_an_acknowledgement_has_its_note_and_end_until_it_is_over() -> None:
    end = date(2031, 1, 31)
    history = after()
    history.add(event(E.ACKNOWLEDGED, note="known", expires=end))
    history.add(event(E.CONFIRMED, experiment="x"))
    assert (history.note, history.expires) == ("known", end)
    history.add(event(E.ACKNOWLEDGED, note="still"))
    assert (history.note, history.expires) == ("still", None)
    history.add(event(E.RESOLVED, note="back"))
    assert (history.note, history.expires) == ("back", None)


def test_a_rejection_has_its_reason() -> None:
    history = after()
    history.add(event(E.REJECTED, reason="environment"))
    assert history.reason == "environment"


def test_the_latest_evidence_is_kept() -> None:
    (moved,) = group_shifts([shift(6)])
    history = after(E.CONFIRMED)
    bounds = Bounds("17.4", "17.5", "17.7")
    history.add(event(E.FOUND, regression=moved, **bounds._asdict()))
    confirmed = moved.model_copy(update={"state": S.CONFIRMED})
    assert (history.regression, history.bounds) == (confirmed, bounds)


def test_what_was_never_found_is_no_regression() -> None:
    assert known_regressions([event(E.MUTED), event(E.CONFIRMED)]) == {}


def test_what_changes_nothing_is_ignored_when_the_journal_is_read() -> None:
    """Two nights may write the end of one acknowledgement; two people may decide alike."""
    found = event(E.FOUND).model_copy(update={"regression": REGRESSION})
    twice = [event(E.ACKNOWLEDGED), event(E.EXPIRED), event(E.EXPIRED)]
    (known,) = known_regressions([found, *twice]).values()
    assert known.state is S.SUSPECTED
    assert known.events == [found, *twice[:2]]
    (known,) = known_regressions([found, event(E.WONT_FIX), event(E.WONT_FIX)]).values()
    assert known.state is S.WONT_FIX
    with pytest.raises(UserError, match="cannot become acknowledged"):
        known_regressions([found, event(E.WONT_FIX), event(E.ACKNOWLEDGED)])
