from __future__ import annotations

import os

import pytest

from pipeline.model import RegressionState
from pipeline.notify.base import Cause
from pipeline.notify.github.record import FILE, held
from tests.notify.github.world import BOT, CONFIRMED, NAME, RESOLVED, World, regression, words

SUSPECTED = RegressionState.SUSPECTED


def test_a_regression_is_an_issue_with_markers_labels_and_text(world: World) -> None:
    result = world.night(regression("aa"))
    issue = world.repository.issue(1)
    assert issue.title == "Confirmed regression aa"
    assert issue.body == (
        "<!-- nightshift regression aa -->\n"
        "**It is confirmed.**\n\n1 series\n"
        "<!-- nightshift end aa -->"
    )
    assert issue.labels == ("nightshift", "target: postgres")
    (action,) = result.actions
    assert action.new and action.changed and action.place.endswith("/acme/bench/issues/1")
    assert result.left == ()


def test_the_label_to_acknowledge_by_is_there_to_be_chosen(world: World) -> None:
    world.night(regression("aa"))
    assert world.repository.find_label("acknowledged") is not None
    assert world.writes() == ["POST /labels", "POST /issues"]
    world.repository.delete_label("acknowledged")
    world.night(regression("bb"))
    assert world.writes() == ["POST /issues"]


def test_reporting_the_same_again_sends_nothing(world: World) -> None:
    world.night(regression("aa"))
    world.writes()
    (action,) = world.night(regression("aa")).actions
    assert not action.new and not action.changed
    assert world.writes() == []


def test_what_grows_is_brought_up_to_date_in_place(world: World) -> None:
    world.night(regression("aa"))
    world.writes()
    (action,) = world.night(regression("aa", series=3)).actions
    assert action.changed and not action.new
    assert "3 series" in str(world.repository.issue(1).body)
    assert world.writes() == ["PATCH /issues/1"]
    assert world.bodies(1) == []


def test_what_people_write_around_our_part_stays(world: World) -> None:
    world.night(regression("aa"))
    body = world.repository.issue(1).body
    world.repository.edit("alice", 1, body=f"Seen on prod.\r\n\r\n{body}\r\n\r\nSee #7.")
    world.night(regression("aa", series=2))
    now = str(world.repository.issue(1).body)
    assert now.startswith("Seen on prod.\r\n\r\n<!-- nightshift regression aa -->")
    assert now.endswith("<!-- nightshift end aa -->\r\n\r\nSee #7.")
    assert "2 series" in now and "1 series" not in now


def test_a_title_and_labels_that_people_changed_stay_while_ours_are_the_same(world: World) -> None:
    world.night(regression("aa"))
    world.repository.edit("alice", 1, title="Sorting is slow")
    world.repository.unlabel("alice", 1, "target: postgres")
    world.repository.label("alice", 1, "planner")
    world.night(regression("aa", series=2))
    issue = world.repository.issue(1)
    assert issue.title == "Sorting is slow"
    assert issue.labels == ("nightshift", "planner")


def test_labels_that_the_configuration_got_are_added(world: World) -> None:
    world.night(regression("aa"))
    world.section = world.section.model_copy(update={"labels": ("nightshift", "performance")})
    world.night(regression("aa"))
    assert set(world.repository.issue(1).labels) == {
        "nightshift",
        "target: postgres",
        "performance",
    }


def test_only_confirmed_regressions_are_reported_unless_asked_for(world: World) -> None:
    assert world.night(regression("aa", SUSPECTED)).actions == ()
    assert len(world.night(regression("aa", SUSPECTED), suspected=True).actions) == 1


def test_no_more_than_so_many_new_issues_in_a_night_and_the_rest_in_the_next(world: World) -> None:
    world.section = world.section.model_copy(update={"at_most": 2})
    five = [regression(name) for name in ("a1", "a2", "a3", "a4", "a5")]
    assert world.night(*five).left == (
        "3 more issues wait for the next night ([github] at_most = 2)",
    )
    assert world.night(*five).left == (
        "1 more issues wait for the next night ([github] at_most = 2)",
    )
    assert world.night(*five).left == ()
    assert [issue.title[-2:] for issue in world.repository.listed()] == [
        "a1",
        "a2",
        "a3",
        "a4",
        "a5",
    ]


def test_regressions_of_one_cause_are_one_issue(world: World) -> None:
    cause = Cause(regressions=(regression("aa"), regression("bb")))
    world.sink().report([cause], words, suspected=False)
    (issue,) = world.repository.listed()
    assert "- bb confirmed" in str(issue.body)
    # It stays as long as one of them is there.
    world.times.pass_by(days=1)
    half = Cause(regressions=(regression("aa", RESOLVED), regression("bb")))
    world.sink().report([half], words, suspected=False)
    assert world.repository.issue(1).state == "open"
    world.times.pass_by(days=1)
    gone = Cause(regressions=(regression("aa", RESOLVED), regression("bb", RESOLVED)))
    world.sink().report([gone], words, suspected=False)
    assert world.repository.issue(1).state == "closed"


def test_the_culprit_is_reported_in_one_comment(world: World) -> None:
    world.night(regression("aa"))
    world.night(regression("aa", culprit="deadbeef"))
    (said,) = world.bodies(1)
    assert "`deadbeef`" in said and "`17.9`" in said
    world.night(regression("aa", culprit="deadbeef", series=2))
    assert len(world.bodies(1)) == 1


def test_a_culprit_that_was_known_from_the_beginning_is_no_news(world: World) -> None:
    world.night(regression("aa", culprit="deadbeef"))
    world.night(regression("aa", culprit="deadbeef", series=2))
    assert world.bodies(1) == []


def test_a_measured_recovery_closes_and_coming_back_opens_again(
    world: World,
) -> None:
    for time in (1, 2):
        world.night(regression("aa"))
        world.night(regression("aa", RESOLVED))
        issue = world.repository.issue(1)
        assert (issue.state, issue.reason) == ("closed", "completed")
        assert len(world.bodies(1)) == 2 * time - 1
        newest = world.bodies(1)[-1]
        assert "regression is gone" in newest and "**It is resolved.**" in newest
        world.night(regression("aa", RESOLVED))
        assert len(world.bodies(1)) == 2 * time - 1
        world.night(regression("aa"))
        assert world.repository.issue(1).state == "open"
        assert "regression is back" in world.bodies(1)[-1]
    assert len(world.repository.listed()) == 1


@pytest.mark.parametrize(
    "state",
    [RegressionState.REJECTED, RegressionState.ACKNOWLEDGED, RegressionState.WONT_FIX],
)
def test_nothing_but_a_measured_recovery_closes(world: World, state: RegressionState) -> None:
    world.night(regression("aa"))
    world.night(regression("aa", state))
    assert world.repository.issue(1).state == "open"
    assert world.bodies(1) == []


def test_what_was_left_alone_while_it_was_gone_is_not_lost(world: World) -> None:
    """Resolved, back and acknowledged at once, then acknowledged no more: it is open again."""
    world.night(regression("aa"))
    world.night(regression("aa", RESOLVED))
    world.night(regression("aa", RegressionState.ACKNOWLEDGED))
    assert world.repository.issue(1).state == "closed"
    world.night(regression("aa", CONFIRMED))
    assert world.repository.issue(1).state == "open"


def test_over_a_humans_comment_nothing_is_closed(world: World) -> None:
    world.night(regression("aa"))
    world.repository.comment("alice", 1, "I am on it")
    world.night(regression("aa", RESOLVED))
    assert world.repository.issue(1).state == "open"
    assert "This issue stays open because people have commented" in world.bodies(1)[-1]
    world.night(regression("aa", RESOLVED))
    assert len(world.bodies(1)) == 2


def test_a_person_who_uses_our_account_is_a_person(world: World) -> None:
    world.night(regression("aa"))
    world.repository.comment(BOT, 1, "I am on it")
    world.night(regression("aa", RESOLVED))
    assert world.repository.issue(1).state == "open"


def test_what_a_human_opened_again_is_not_closed_again(world: World) -> None:
    world.night(regression("aa"))
    world.night(regression("aa", RESOLVED))
    world.times.pass_by(hours=1)
    world.repository.reopen("alice", 1)
    world.night(regression("aa", CONFIRMED))
    assert len(world.bodies(1)) == 1, "who reopened it knows that it is back"
    world.night(regression("aa", RESOLVED))
    world.night(regression("aa", RESOLVED))
    assert world.repository.issue(1).state == "open"
    assert len(world.bodies(1)) == 2 and "alice reopened it" in world.bodies(1)[-1]


@pytest.mark.parametrize("reason", ["completed", "not_planned"])
def test_what_a_human_closed_stays_closed(world: World, reason: str) -> None:
    world.night(regression("aa"))
    world.repository.close("alice", 1, reason)
    for state in (CONFIRMED, RESOLVED, CONFIRMED):
        world.night(regression("aa", state))
        assert world.repository.issue(1).state == "closed"
        assert world.repository.issue(1).closed_by == "alice"
    assert "state of this issue is unchanged" in world.bodies(1)[-1]


def test_in_a_locked_conversation_nothing_is_said_and_the_body_is_kept(world: World) -> None:
    world.night(regression("aa"))
    world.repository.lock("alice", 1)
    result = world.night(regression("aa", RESOLVED, culprit="deadbeef"))
    assert result.left == ()
    assert world.bodies(1) == [] and world.repository.issue(1).state == "open"
    assert "It is resolved" in str(world.repository.issue(1).body)


def test_a_deleted_issue_is_not_made_again(world: World) -> None:
    world.night(regression("aa"))
    world.repository.delete(1)
    world.writes()
    for series in (1, 2, 3):
        assert world.night(regression("aa", series=series)).left == ()
    assert world.writes() == []


def test_a_transferred_issue_is_left_to_those_who_moved_it(world: World) -> None:
    world.night(regression("aa"))
    there = world.fake.repository("acme/db")
    world.repository.transfer(1, there)
    world.writes()
    world.night(regression("aa", series=2))
    world.night(regression("aa", RESOLVED))
    assert world.writes() == []
    assert "1 series" in str(there.issue(1).body)


def test_a_renamed_repository_is_the_same(world: World) -> None:
    world.night(regression("aa"))
    renamed = world.fake.repositories.pop(NAME)
    renamed.full_name = "acme/performance"
    world.fake.repositories["acme/performance"] = renamed
    world.section = world.section.model_copy(update={"repository": "acme/performance"})
    world.night(regression("aa", series=2))
    assert len(renamed.listed()) == 1 and "2 series" in str(renamed.issue(1).body)


def test_another_repository_gets_issues_of_its_own(world: World) -> None:
    world.night(regression("aa"))
    other = world.fake.repository("acme/other")
    world.section = world.section.model_copy(update={"repository": "acme/other"})
    world.night(regression("aa"))
    assert len(other.listed()) == 1
    world.section = world.section.model_copy(update={"repository": NAME})
    world.night(regression("aa"))
    assert len(world.repository.listed()) == 1


def test_two_nightshifts_at_once_are_kept_apart(world: World) -> None:
    with held(world.results) as alone:
        assert alone
        (said,) = world.night(regression("aa")).left
    assert "another nightshift" in said
    assert world.repository.listed() == []


def test_with_the_record_lost_all_is_found_again(world: World) -> None:
    world.night(regression("aa"), regression("bb"), regression("cc", culprit="deadbeef"))
    world.night(regression("aa"), regression("bb", RESOLVED), regression("cc", culprit="deadbeef"))
    (world.results / FILE).unlink()
    world.writes()
    world.night(regression("aa"), regression("bb", RESOLVED), regression("cc", culprit="deadbeef"))
    assert world.writes() == []
    (world.results / FILE).unlink()
    world.night(regression("aa", series=2), regression("bb"))
    assert len(world.repository.listed()) == 3
    assert world.repository.issue(2).state == "open" and len(world.bodies(2)) == 2
    assert "2 series" in str(world.repository.issue(1).body)


def test_a_strangers_issue_with_our_marker_is_none_of_ours(world: World) -> None:
    forged = "<!-- nightshift regression aa -->\nnothing\n<!-- nightshift end aa -->"
    world.repository.open("mallory", "Confirmed regression aa", forged)
    world.night(regression("aa"))
    assert [issue.user for issue in world.repository.listed()] == ["mallory", BOT]
    assert world.repository.issue(1).body == forged


def test_of_several_issues_with_one_marker_the_oldest_is_kept(world: World) -> None:
    world.night(regression("aa"))
    world.repository.open("alice", "a copy", world.repository.issue(1).body, ["nightshift"])
    (world.results / FILE).unlink()
    world.night(regression("aa", series=2))
    assert "2 series" in str(world.repository.issue(1).body)
    assert "1 series" in str(world.repository.issue(2).body)


def test_pull_requests_are_no_issues(world: World) -> None:
    marker = "<!-- nightshift regression aa -->\n<!-- nightshift end aa -->"
    world.repository.open_pull("alice", "aa", sha="1" * 40, body=marker, labels=["nightshift"])
    world.night(regression("aa"))
    assert world.repository.issue(2).title == "Confirmed regression aa"


def test_more_issues_than_fit_on_a_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # it would take most of the time
    world.section = world.section.model_copy(update={"at_most": 500})
    many = [regression(f"a{number}") for number in range(101)]
    world.night(*many)
    (world.results / FILE).unlink()
    world.writes()
    world.night(*many)
    assert world.writes() == []
    assert len(world.repository.listed()) == 101
