from __future__ import annotations

import pytest

from pipeline.notify.base import DecisionKind, PersonDecision
from pipeline.notify.github.record import FILE
from tests.fakes.github import failing
from tests.notify.github.world import NAME, RESOLVED, World, regression

ACKNOWLEDGED, REOPENED = DecisionKind.ACKNOWLEDGED, DecisionKind.REOPENED
WONT_FIX = DecisionKind.WONT_FIX

PLACE = "https://github.test/acme/bench/issues/1"


def as_rows(decisions: list[PersonDecision]) -> list[tuple[DecisionKind, str, str]]:
    return [(one.kind, one.by, one.note) for one in decisions]


def decided(world: World) -> list[tuple[DecisionKind, str, str]]:
    """Ask for decisions and report, as a night does."""
    return as_rows(world.asked_night(regression("aa"))[0])


@pytest.fixture
def filed(world: World) -> World:
    world.night(regression("aa"))
    world.times.pass_by(hours=1)
    return world


def test_the_label_acknowledges_and_taking_it_off_reopens(filed: World) -> None:
    filed.repository.label("alice", 1, "Acknowledged")
    assert decided(filed) == [(ACKNOWLEDGED, "alice", f"labelled, {PLACE}")]
    assert decided(filed) == []
    filed.repository.unlabel("bob", 1, "acknowledged")
    assert decided(filed) == [(REOPENED, "bob", f"label removed, {PLACE}")]
    assert decided(filed) == []


def test_an_issue_that_is_gone_and_still_listed_keeps_no_other_from_being_read(
    filed: World,
) -> None:
    filed.night(regression("aa"), regression("bb"))
    filed.times.pass_by(hours=1)
    filed.repository.label("alice", 2, "acknowledged")
    filed.repository.comment("alice", 1, "Let us delete this.")
    filed.fake.fault = lambda asked: (
        failing(410) if asked.path.endswith("/issues/1/events") else None
    )
    decisions, result = filed.asked_night(regression("aa"), regression("bb"), regression("cc"))
    assert [(one.fingerprint, one.by) for one in decisions] == [("bb", "alice")]
    assert [one.fingerprint for one in result.actions] == ["aa", "bb", "cc"]
    assert "aa: people's decisions could not be read" in result.left[0]


@pytest.mark.parametrize("status", [404, 410, 422])
def test_a_listing_that_is_refused_ends_no_night(filed: World, status: int) -> None:
    filed.fake.fault = lambda asked: (
        failing(status) if (asked.method, asked.path) == ("GET", f"/repos/{NAME}/issues") else None
    )
    decisions, result = filed.asked_night(regression("aa"), regression("bb"))
    assert not decisions
    assert any("is reported the next time" in line for line in result.left)
    filed.fake.fault = lambda asked: None
    assert filed.night(regression("aa"), regression("bb")).actions[1].new


def test_other_labels_decide_nothing(filed: World) -> None:
    filed.repository.label("alice", 1, "planner")
    filed.repository.comment("alice", 1, "acknowledged")
    assert decided(filed) == []


@pytest.mark.parametrize(
    ("reason", "kind", "note"),
    [
        ("not_planned", WONT_FIX, "closed as not planned"),
        ("completed", ACKNOWLEDGED, "closed as completed"),
        ("duplicate", ACKNOWLEDGED, "closed as duplicate"),
    ],
)
def test_closing_decides_by_its_reason(
    filed: World, reason: str, kind: DecisionKind, note: str
) -> None:
    filed.repository.close("alice", 1, reason)
    assert decided(filed) == [(kind, "alice", f"{note}, {PLACE}")]
    assert decided(filed) == []


def test_opening_again_what_we_closed_reopens(filed: World) -> None:
    filed.night(regression("aa", RESOLVED))
    assert decided(filed) == [], "what we close is no decision"
    filed.night(regression("aa", RESOLVED))
    filed.times.pass_by(hours=1)
    filed.repository.reopen("alice", 1)
    assert decided(filed) == [(REOPENED, "alice", f"reopened, {PLACE}")]


def test_several_decisions_come_oldest_first_with_their_times(filed: World) -> None:
    filed.night(regression("aa"), regression("bb"))
    began = filed.times.now
    filed.times.pass_by(hours=1)
    filed.repository.label("alice", 1, "acknowledged")
    filed.times.pass_by(hours=1)
    filed.repository.close("carol", 2, "not_planned")
    filed.times.pass_by(hours=1)
    filed.repository.close("bob", 1, "not_planned")
    found = filed.asked_night()[0]
    assert [(one.fingerprint, one.by) for one in found] == [
        ("aa", "alice"),
        ("bb", "carol"),
        ("aa", "bob"),
    ]
    assert [(one.at - began).total_seconds() / 3600 for one in found] == [1.0, 2.0, 3.0]


def test_programs_decide_nothing(filed: World) -> None:
    filed.repository.close("stale[bot]", 1, "not_planned")
    filed.repository.label("triage[bot]", 1, "acknowledged")
    assert decided(filed) == []


def test_by_our_account_only_what_we_never_do_is_a_persons(filed: World) -> None:
    """A person with a token of their own decides by hand, too."""
    filed.fake.account("mine", "erin")
    filed.repository.access.roles["erin"] = "write"
    filed.repository.close("erin", 1, "not_planned")
    assert decided(filed) == [(WONT_FIX, "erin", f"closed as not planned, {PLACE}")]


def test_a_decision_is_returned_again_until_a_report_records_it(filed: World) -> None:
    filed.repository.label("alice", 1, "acknowledged")
    filed.times.pass_by(days=1)
    first = filed.sink().decisions()
    again = filed.sink().decisions()
    assert first == again and len(first) == 1
    sink = filed.sink()
    assert sink.decisions() == first
    assert sink.decisions() == [], "one sink returns it once"
    sink.report([], lambda *_: pytest.fail("so its result is not reported"), suspected=False)
    assert filed.sink().decisions() == []


def test_a_decision_on_an_issue_that_lost_our_label_counts(filed: World) -> None:
    filed.repository.unlabel("alice", 1, "nightshift")
    filed.repository.close("alice", 1, "not_planned")
    assert decided(filed) == [(WONT_FIX, "alice", f"closed as not planned, {PLACE}")]


def test_a_deleted_issue_decides_nothing_and_is_asked_for_no_more(filed: World) -> None:
    filed.repository.delete(1)
    assert decided(filed) == []
    filed.fake.asked.clear()
    assert decided(filed) == []
    assert [each.path for each in filed.fake.asked if "/issues/" in each.path] == []


def test_with_the_record_lost_only_the_decision_that_still_holds_is_returned(filed: World) -> None:
    filed.repository.label("alice", 1, "acknowledged")
    filed.repository.unlabel("alice", 1, "acknowledged")
    filed.repository.close("bob", 1, "not_planned")
    (filed.results / FILE).unlink()
    assert decided(filed) == [(WONT_FIX, "bob", f"closed as not planned, {PLACE}")]
    assert decided(filed) == []


def test_with_the_record_lost_what_we_closed_since_overrules_older_decisions(filed: World) -> None:
    filed.repository.label("alice", 1, "acknowledged")
    decided(filed)
    filed.night(regression("aa", RESOLVED))
    (filed.results / FILE).unlink()
    assert decided(filed) == []


def test_more_events_than_fit_on_a_page(filed: World) -> None:
    for number in range(120):
        filed.repository.edit("alice", 1, title=f"Slow {number}")
    filed.repository.label("alice", 1, "acknowledged")
    assert decided(filed) == [(ACKNOWLEDGED, "alice", f"labelled, {PLACE}")]


def test_issues_that_did_not_change_are_not_asked_about(filed: World) -> None:
    decided(filed)
    decided(filed)
    filed.fake.asked.clear()
    decided(filed)
    assert not any(each.path.endswith("/events") for each in filed.fake.asked)
