"""Nights in a row on a real store: found once, recognised, decided, resolved."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from pipeline.analyse.detected import Detected, kept_detection
from pipeline.analyse.detection import search, watched_series
from pipeline.analyse.refresh import refresh
from pipeline.analyse.rules import Rules
from pipeline.analyse.settle import settle
from pipeline.analyse.states import histories
from pipeline.config import DetectSection
from pipeline.errors import UserError
from pipeline.execute.plan import Plan
from pipeline.journal import Event, EventKind, Journal
from pipeline.model import RegressionState
from pipeline.store.database import empty_store
from pipeline.store.regressions import stored_regressions
from tests.report.page_store import make_store

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
        self.store: Engine | None = None

    def night(
        self,
        revisions: Sequence[str],
        level: Callable[[str, int, str], float],
        at: datetime = AT,
    ) -> Detected:
        store, plan = make_store(
            self.folder / f"night {len(revisions)}", {"minors": revisions}, level=level
        )
        self.store = store
        return self.settle(store, plan, at)

    def settle(self, store: Engine, plan: Plan, at: datetime = AT) -> Detected:
        series = watched_series(store, plan, SETTINGS.metrics)
        found = search(series, plan, Rules(SETTINGS))
        return settle(found, plan, series, SETTINGS.min_effect, self.folder, store, at)

    @property
    def events(self) -> list[Event]:
        return Journal(self.folder).read()

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
    again = results.settle(store, plan, AT + timedelta(days=1))
    assert [one.fingerprint for one in again.regressions] == [first.fingerprint]
    assert len(results.events) == 1, "nothing new is nothing to write down"
    # More evidence of the same.
    (more,) = results.night(minors(12), slower(4)).regressions
    assert more.fingerprint == first.fingerprint
    assert set(histories(results.events)) == {first.fingerprint}


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
    assert results.store is not None
    for _ in range(2):
        refresh(results.folder, results.store, AT)
    kept = kept_detection(results.folder)
    assert kept is not None
    assert [one.state for one in kept.regressions] == [state]
    (row,) = stored_regressions(results.store)
    assert (row.regression, row.reason) == (kept.regressions[0], reason)
    taken = results.events[1:]
    assert [(event.experiment, event.blocks, event.minutes) for event in taken] == [
        ("confirm-1", 8, 2.5)
    ], "once"
    # The next night does not forget it.
    (again,) = results.night(minors(12), slower(4)).regressions
    assert again.state is state


def test_an_experiment_that_went_on_is_taken_again(results: Results) -> None:
    (found,) = results.night(minors(8), slower(4)).regressions
    assert results.store is not None
    results.outcome("confirm-1", found.fingerprint, "undecided", blocks=8)
    refresh(results.folder, results.store, AT)
    later = AT + timedelta(days=1)
    results.outcome("confirm-1", found.fingerprint, "confirmed", later, blocks=14)
    refresh(results.folder, results.store, AT)
    assert [event.event for event in results.events] == [E.FOUND, E.UNDECIDED, E.CONFIRMED]
    assert results.events[-1].at == later


def test_what_was_reopened_is_rejected_by_a_new_measurement_only(results: Results) -> None:
    (found,) = results.night(minors(8), slower(4)).regressions
    store = results.store
    assert store is not None

    def state() -> RegressionState:
        refresh(results.folder, store, AT)
        (row,) = stored_regressions(store)
        return row.regression.state

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
    assert results.store is not None
    results.outcome("confirm-1", found.fingerprint, "environment")
    refresh(results.folder, results.store, AT)
    experiments = results.folder / "experiments"
    (experiments / "confirm-1").rename(experiments / "confirm-1.1")
    results.outcome("confirm-1", found.fingerprint, "confirmed", AT + timedelta(days=1))
    (experiments / "bisect-1").mkdir()
    (experiments / "bisect-1" / "outcome.json").write_text('{"culprit": "17.4", "runs": 9}')
    for _ in range(2):
        refresh(results.folder, results.store, AT)
    assert [event.event for event in results.events] == [E.FOUND, E.REJECTED, E.CONFIRMED]
    (row,) = stored_regressions(results.store)
    assert row.regression.state is S.CONFIRMED


@pytest.mark.parametrize("text", ["", "[1]", "7", '{"fingerprint": 1}'])
def test_an_outcome_that_is_none_is_named(results: Results, text: str) -> None:
    folder = results.folder / "experiments" / "confirm-1"
    folder.mkdir(parents=True)
    (folder / "outcome.json").write_text(text)
    store, _ = make_store(results.folder / "store", {"minors": minors(2)})
    with pytest.raises(UserError, match=r"confirm-1/outcome\.json is damaged; remove it"):
        refresh(results.folder, store, AT)


def test_a_damaged_outcome_is_named(results: Results) -> None:
    results.night(minors(8), slower(4))
    results.outcome("confirm-1", "f", "perhaps")
    assert results.store is not None
    with pytest.raises(UserError, match=r"confirm-1/outcome\.json is damaged; remove it"):
        refresh(results.folder, results.store, AT)


def test_an_acknowledgement_ends_after_its_day(results: Results) -> None:
    (found,) = results.night(minors(8), slower(4)).regressions
    assert results.store is not None
    until = date(2026, 3, 5)
    Journal(results.folder).append(
        [Event(at=AT, event=E.ACKNOWLEDGED, fingerprint=found.fingerprint, expires=until)]
    )
    for day, state in [(5, S.ACKNOWLEDGED), (6, S.SUSPECTED), (7, S.SUSPECTED)]:
        refresh(results.folder, results.store, datetime(2026, 3, day, 23, tzinfo=UTC))
        (row,) = stored_regressions(results.store)
        assert row.regression.state is state
    assert [event.event for event in results.events] == [E.FOUND, E.ACKNOWLEDGED, E.EXPIRED]


def test_a_measured_recovery_resolves(results: Results) -> None:
    (found,) = results.night(minors(8), slower(4)).regressions
    later = results.night(minors(14), slower(4, until=9)).regressions
    by_way = {one.worse: one for one in later}
    assert by_way[True].fingerprint == found.fingerprint
    assert by_way[True].state is S.RESOLVED
    assert by_way[False].recovers == found.fingerprint
    resolved = results.events[-1]
    assert (resolved.event, resolved.note) == (E.RESOLVED, "back since 17.9")
    assert resolved.recovery == by_way[False].fingerprint
    # As long as somebody has reopened it, the improvement is no recovery of it.
    journal = Journal(results.folder)
    journal.append([Event(at=AT, event=E.REOPENED, fingerprint=found.fingerprint, by="ada")])
    assert results.store is not None
    refreshed = refresh(results.folder, results.store, AT)
    assert refreshed is not None
    assert [one.recovers for one in refreshed.regressions] == ["", ""]
    journal.append([resolved])
    # It stays so, and a later slowdown is another one.
    store, plan = make_store(
        results.folder / "later",
        {"minors": minors(20)},
        level=lambda s, p, m: slower(4, 9)(s, p, m) * slower(15)(s, p, m),
    )
    states = {one.first_bad: one.state for one in results.settle(store, plan).regressions}
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
    known = histories(results.events)
    assert set(known) == {first.fingerprint}
    history = known[first.fingerprint]
    assert (history.regression.first_bad, history.bounds.before) == ("17.22", "17.21")
    assert results.store is not None
    (row,) = stored_regressions(results.store)
    assert (row.regression.last_good, row.regression.first_bad) == ("17.21", "17.22")


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
    states = {name: history.state for name, history in histories(results.events).items()}
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


def test_the_tables_are_derived(results: Results) -> None:
    (found,) = results.night(minors(8), slower(4)).regressions
    results.outcome("confirm-1", found.fingerprint, "confirmed")
    assert results.store is not None
    refresh(results.folder, results.store, AT)
    before = stored_regressions(results.store)
    assert [event.event for event in before[0].events] == [E.FOUND, E.CONFIRMED]
    empty_store(results.store)
    assert stored_regressions(results.store) == []
    refresh(results.folder, results.store, AT)
    assert stored_regressions(results.store) == before
    # And from the journal alone: what is no longer found is still known.
    (results.folder / "detected.json").unlink()
    assert refresh(results.folder, results.store, AT) is None
    (kept,) = stored_regressions(results.store)
    assert kept.regression.state is S.CONFIRMED
    assert kept.regression.shifts == before[0].regression.shifts
