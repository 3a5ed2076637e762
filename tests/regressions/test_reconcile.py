"""Nights in a row on a real store: found once, recognised, decided, resolved."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from pipeline.config import DetectSection
from pipeline.measure.plan import Plan
from pipeline.model import RegressionState
from pipeline.regressions.detect import search
from pipeline.regressions.detected import Detected
from pipeline.regressions.reconcile import reconcile
from pipeline.regressions.repository import RegressionRepository
from pipeline.regressions.rules import Rules
from pipeline.regressions.states import KnownRegression, known_regressions
from pipeline.regressions.watched import watched_series
from pipeline.storage.columns import measurement_columns
from pipeline.storage.journal import Event, EventKind, Journal
from pipeline.text.errors import UserError
from tests.site.page_store import make_store

AT = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = DetectSection()
S, E = RegressionState, EventKind


def minors(count: int) -> list[str]:
    return [f"17.{minor}" for minor in range(count)]


def slower(since: int, until: int = 1000) -> Callable[[str, int, str], float]:
    """Scans are a fifth slower from one position until another."""

    def level(step: str, position: int, metric: str) -> float:
        if step != "scan_range=100" or not since <= position < until:
            return 1.0
        return {"qps": 0.8, "cpu_us/o": 1.25}.get(metric, 1.0)

    return level


class Results:
    """A results folder that nights are settled in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository = RegressionRepository(folder)

    def night(
        self,
        revisions: Sequence[str],
        level: Callable[[str, int, str], float],
        at: datetime = AT,
    ) -> Detected:
        store, plan = make_store(
            self.folder / f"night {len(revisions)}", {"minors": revisions}, level=level
        )
        return self.reconcile(store, plan, at)

    def reconcile(self, store: Engine, plan: Plan, at: datetime = AT) -> Detected:
        series = watched_series(measurement_columns(store, SETTINGS.metrics), plan, SETTINGS)
        found = search(series, plan, Rules(SETTINGS))
        return reconcile(found, plan, series, SETTINGS, self.folder, at)

    @property
    def events(self) -> list[Event]:
        return Journal(self.folder).read()

    def known(self, at: datetime = AT) -> KnownRegression:
        """The one regression that is known."""
        (one,) = self.repository.known(at).values()
        return one

    def outcome(
        self, name: str, fingerprint: str, verdict: str, at: datetime = AT, blocks: int = 8
    ) -> None:
        folder = self.folder / "experiments" / name
        folder.mkdir(parents=True, exist_ok=True)
        tree = {"fingerprint": fingerprint, "verdict": verdict, "blocks": blocks, "minutes": 2.5}
        tree["at"] = at.isoformat()
        (folder / "outcome.json").write_text(json.dumps({**tree, "rows": []}))


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path)


def test_what_is_found_again_is_not_found_anew(results: Results) -> None:
    (first,) = results.night(minors(8), slower(4)).regressions
    assert first.state is S.SUSPECTED
    assert [event.event for event in results.events] == [E.FOUND]
    store, plan = make_store(results.folder / "again", {"minors": minors(8)}, level=slower(4))
    again = results.reconcile(store, plan, AT + timedelta(days=1))
    assert [one.fingerprint for one in again.regressions] == [first.fingerprint]
    assert len(results.events) == 1, "nothing new is nothing to write down"
    # More evidence of the same.
    (more,) = results.night(minors(12), slower(4)).regressions
    assert more.fingerprint == first.fingerprint
    assert set(known_regressions(results.events)) == {first.fingerprint}


@pytest.mark.parametrize(
    ("verdict", "state", "reason"),
    [
        ("confirmed", S.CONFIRMED, ""),
        ("rejected", S.REJECTED, "noise"),
        ("environment", S.REJECTED, "environment"),
        ("undecided", S.SUSPECTED, ""),
    ],
)
def test_outcomes_of_experiments_give_the_state(
    results: Results, verdict: str, state: RegressionState, reason: str
) -> None:
    (found,) = results.night(minors(8), slower(4)).regressions
    results.outcome("confirm-1", found.fingerprint, verdict)
    results.outcome("confirm-2", "of nothing known", "confirmed")
    kept = results.repository.detection(AT)
    assert kept is not None
    assert [one.state for one in kept.regressions] == [state]
    known = results.known()
    assert (known.regression, known.reason) == (kept.regressions[0], reason)
    assert len(results.events) == 1, "who only asks writes nothing"
    for _ in range(2):
        results.repository.record_pending(AT)
    assert results.known() == known
    taken = results.events[1:]
    assert [(event.experiment, event.blocks, event.minutes) for event in taken] == [
        ("confirm-1", 8, 2.5)
    ], "once"
    # The next night does not forget it.
    (again,) = results.night(minors(12), slower(4)).regressions
    assert again.state is state


def test_an_experiment_that_went_on_is_taken_again(results: Results) -> None:
    (found,) = results.night(minors(8), slower(4)).regressions
    results.outcome("confirm-1", found.fingerprint, "undecided", blocks=8)
    results.repository.record_pending(AT)
    later = AT + timedelta(days=1)
    results.outcome("confirm-1", found.fingerprint, "confirmed", later, blocks=14)
    results.repository.record_pending(AT)
    assert [event.event for event in results.events] == [E.FOUND, E.UNDECIDED, E.CONFIRMED]
    assert results.events[-1].at == later


def test_what_was_reopened_is_rejected_by_a_new_measurement_only(results: Results) -> None:
    (found,) = results.night(minors(8), slower(4)).regressions

    def state() -> RegressionState:
        asked = results.known().state
        results.repository.record_pending(AT)
        assert results.known().state is asked
        return asked

    results.outcome("confirm-1", found.fingerprint, "rejected")
    assert state() is S.REJECTED
    Journal(results.folder).append(
        [Event(at=AT, event=E.REOPENED, fingerprint=found.fingerprint, by="ada")]
    )
    for _ in range(2):
        assert state() is S.SUSPECTED, "the outcome is that of before"
    # Measured anew it took as many blocks and minutes, and is as it was.
    results.outcome("confirm-1", found.fingerprint, "rejected", AT + timedelta(hours=1))
    for _ in range(2):
        assert state() is S.REJECTED
    assert [event.event for event in results.events] == [
        E.FOUND, E.REJECTED, E.REOPENED, E.REJECTED,
    ]  # fmt: skip


def test_only_what_is_about_a_regression_and_still_holds_is_taken(results: Results) -> None:
    """Bisections have outcomes, too, and what was set aside was measured anew since."""
    (found,) = results.night(minors(8), slower(4)).regressions
    results.outcome("confirm-1", found.fingerprint, "environment")
    results.repository.record_pending(AT)
    experiments = results.folder / "experiments"
    (experiments / "confirm-1").rename(experiments / "confirm-1.1")
    results.outcome("confirm-1", found.fingerprint, "confirmed", AT + timedelta(days=1))
    (experiments / "bisect-1").mkdir()
    (experiments / "bisect-1" / "outcome.json").write_text('{"culprit": "17.4", "runs": 9}')
    for _ in range(2):
        results.repository.record_pending(AT)
    assert [event.event for event in results.events] == [E.FOUND, E.REJECTED, E.CONFIRMED]
    assert results.known().state is S.CONFIRMED


@pytest.mark.parametrize("text", ["", "[1]", "7", '{"fingerprint": 1}'])
def test_an_outcome_that_is_none_is_named(results: Results, text: str) -> None:
    folder = results.folder / "experiments" / "confirm-1"
    folder.mkdir(parents=True)
    (folder / "outcome.json").write_text(text)
    with pytest.raises(
        UserError,
        match=r"confirm-1/outcome\.json is damaged; delete it and run `nightshift confirm` again",
    ):
        results.repository.known(AT)


def test_a_damaged_outcome_is_named(results: Results) -> None:
    results.night(minors(8), slower(4))
    results.outcome("confirm-1", "f", "perhaps")
    with pytest.raises(
        UserError,
        match=r"confirm-1/outcome\.json is damaged; delete it and run `nightshift confirm` again",
    ):
        results.repository.record_pending(AT)


def test_an_acknowledgement_ends_after_its_day(results: Results) -> None:
    (found,) = results.night(minors(8), slower(4)).regressions
    until = date(2026, 3, 5)
    Journal(results.folder).append(
        [Event(at=AT, event=E.ACKNOWLEDGED, fingerprint=found.fingerprint, expires=until)]
    )
    for day, state in [(5, S.ACKNOWLEDGED), (6, S.SUSPECTED), (7, S.SUSPECTED)]:
        assert results.known(datetime(2026, 3, day, 23, tzinfo=UTC)).state is state
    assert [event.event for event in results.events] == [E.FOUND, E.ACKNOWLEDGED]
    for day in (7, 8):
        results.repository.record_pending(datetime(2026, 3, day, 23, tzinfo=UTC))
    assert [event.event for event in results.events] == [E.FOUND, E.ACKNOWLEDGED, E.EXPIRED]
    assert results.events[-1].at == datetime(2026, 3, 6, tzinfo=UTC), "not when it was noticed"


def test_a_measured_recovery_resolves(results: Results) -> None:
    (found,) = results.night(minors(8), slower(4)).regressions
    later = results.night(minors(14), slower(4, until=9)).regressions
    by_way = {one.worse: one for one in later}
    assert by_way[True].fingerprint == found.fingerprint
    assert by_way[True].state is S.RESOLVED
    assert by_way[False].recovers == found.fingerprint
    resolved = results.events[-1]
    assert (resolved.event, resolved.note) == (E.RESOLVED, "recovered since 17.9")
    assert resolved.recovery == by_way[False].fingerprint
    # As long as somebody has reopened it, the improvement is no recovery of it.
    journal = Journal(results.folder)
    journal.append([Event(at=AT, event=E.REOPENED, fingerprint=found.fingerprint, by="ada")])
    reopened = results.repository.detection(AT)
    assert reopened is not None
    assert [one.recovers for one in reopened.regressions] == ["", ""]
    journal.append([resolved])
    # It stays so, and a later slowdown is another one.
    store, plan = make_store(
        results.folder / "later",
        {"minors": minors(20)},
        level=lambda s, p, m: slower(4, 9)(s, p, m) * slower(15)(s, p, m),
    )
    states = {one.first_bad: one.state for one in results.reconcile(store, plan).regressions}
    assert states["17.4"] is S.RESOLVED
    assert states["17.15"] is S.SUSPECTED


def test_what_is_measured_later_between_makes_a_place_narrower_and_not_another(
    results: Results,
) -> None:
    """Every fourth revision at first, of which 17.24 is slow; then those between."""
    culprit = 22

    def night(numbers: Sequence[int]) -> Detected:
        slow = sum(number < culprit for number in numbers)
        names = [f"17.{number}" for number in numbers]
        return results.night(names, slower(slow))

    measured = list(range(0, 48, 4))
    (first,) = night(measured).regressions
    assert (first.last_good, first.first_bad) == ("17.20", "17.24")
    results.outcome("confirm-1", first.fingerprint, "confirmed")
    # Below it, in the gap in which it is, and behind it.
    for more, good, bad in [
        ((2, 6), "17.20", "17.24"),
        ((22,), "17.20", "17.22"),
        ((21, 30), "17.21", "17.22"),
    ]:
        measured = sorted({*measured, *more})
        (again,) = night(measured).regressions
        assert (again.fingerprint, again.state) == (first.fingerprint, S.CONFIRMED)
        assert (again.last_good, again.first_bad) == (good, bad)
    known = known_regressions(results.events)
    assert set(known) == {first.fingerprint}
    history = known[first.fingerprint]
    assert (history.regression.first_bad, history.bounds.before) == ("17.22", "17.21")
    assert results.known().regression.first_bad == "17.22"


def test_a_recovery_is_seen_though_places_have_moved(results: Results) -> None:
    """What was measured later below a regression is not taken for what came after it."""
    (found,) = results.night(minors(30)[10:20], slower(5)).regressions
    assert found.first_bad == "17.15"
    later = results.night(minors(30), slower(15, until=22)).regressions
    assert {one.state for one in later if one.worse} == {S.RESOLVED}
    assert results.events[-1].recovery == next(one for one in later if not one.worse).fingerprint


def pushed(kept: int, count: int) -> list[str]:
    """The revisions of a branch of which all but the first ones were replaced by others."""
    return [*minors(kept), *(f"17.{100 + minor}" for minor in range(kept, count))]


def test_a_first_bad_revision_that_was_replaced_is_still_the_same_cause(results: Results) -> None:
    (found,) = results.night(minors(12), slower(6)).regressions
    (again,) = results.night(pushed(6, 13), slower(6)).regressions
    assert (again.last_good, again.first_bad) == ("17.5", "17.106")
    assert again.fingerprint == found.fingerprint


def test_what_left_its_line_is_not_resolved(results: Results) -> None:
    """Where it was there are others now, and those that were as bad before are no recovery."""
    (found,) = results.night(minors(20), slower(10)).regressions
    (again,) = results.night(pushed(5, 19), slower(5)).regressions
    assert again.fingerprint != found.fingerprint
    states = {name: history.state for name, history in known_regressions(results.events).items()}
    assert states == {found.fingerprint: S.SUSPECTED, again.fingerprint: S.SUSPECTED}


def test_half_a_recovery_is_none(results: Results) -> None:
    results.night(minors(8), slower(4))

    def level(step: str, position: int, metric: str) -> float:
        full = slower(4)(step, position, metric)
        return math.sqrt(full) if position >= 9 else full

    later = results.night(minors(14), level).regressions
    assert [one.state for one in later if one.worse] == [S.SUSPECTED]
    assert not any(one.recovers for one in later)


def test_what_a_person_closed_stays_closed(results: Results) -> None:
    (found,) = results.night(minors(8), slower(4)).regressions
    Journal(results.folder).append(
        [Event(at=AT, event=E.WONT_FIX, fingerprint=found.fingerprint, by="ada", note="meant")]
    )
    (again,) = results.night(minors(12), slower(4)).regressions
    assert again.state is S.WONT_FIX


def test_what_is_no_longer_found_is_still_known(results: Results) -> None:
    (found,) = results.night(minors(8), slower(4)).regressions
    results.outcome("confirm-1", found.fingerprint, "confirmed")
    before = results.known()
    assert [event.event for event in before.events] == [E.FOUND, E.CONFIRMED]
    (results.folder / "detected.json").unlink()
    assert results.repository.detection(AT) is None
    assert results.known() == before


def test_the_evidence_is_that_of_the_last_detection(results: Results) -> None:
    """The journal records it when its place or extent changes."""
    (first,) = results.night(minors(8), slower(4)).regressions
    (more,) = results.night(minors(12), slower(4)).regressions
    assert first.shifts != more.shifts
    assert len(results.events) == 1
    assert results.known().regression == more


def test_what_is_decided_next_can_be_looked_at_first(results: Results) -> None:
    (found,) = results.night(minors(8), slower(4)).regressions
    decision = Event(at=AT, event=E.WONT_FIX, fingerprint=found.fingerprint, by="ada")
    known = results.repository.known(AT, [decision])
    assert known[found.fingerprint].state is S.WONT_FIX
    assert results.known().state is S.SUSPECTED


def test_a_decision_comes_behind_what_was_pending(results: Results) -> None:
    """In the journal, too, where the outcome of a killed experiment was not yet."""
    (found,) = results.night(minors(8), slower(4)).regressions
    results.outcome("confirm-1", found.fingerprint, "rejected")
    reopened = Event(at=AT, event=E.REOPENED, fingerprint=found.fingerprint, by="ada")
    results.repository.record([reopened], AT)
    assert [event.event for event in results.events] == [E.FOUND, E.REJECTED, E.REOPENED]
    assert results.known().state is S.SUSPECTED


def test_an_outcome_that_was_there_before_its_regression_is_recorded_with_it(
    results: Results,
) -> None:
    (found,) = results.night(minors(8), slower(4)).regressions
    results.outcome("confirm-1", found.fingerprint, "confirmed")
    (results.folder / "journal.jsonl").unlink()
    (again,) = results.night(minors(12), slower(4)).regressions
    assert (again.fingerprint, again.state) == (found.fingerprint, S.CONFIRMED)
    assert [event.event for event in results.events] == [E.FOUND, E.CONFIRMED]


def test_an_event_that_the_state_does_not_allow_is_not_appended(results: Results) -> None:
    """Another process may have decided since this one looked."""
    (found,) = results.night(minors(8), slower(4)).regressions
    closed = Event(at=AT, event=E.WONT_FIX, fingerprint=found.fingerprint, by="ada")
    results.repository.record([closed], AT)
    before = results.events
    with pytest.raises(UserError, match="is won't fix, so it cannot become won't fix"):
        results.repository.record([closed], AT)
    assert results.events == before
    results.repository.record_pending(AT)
    assert results.events == before


def test_nothing_to_record_makes_no_journal(tmp_path: Path) -> None:
    RegressionRepository(tmp_path).record_pending(AT)
    assert list(tmp_path.iterdir()) == []
