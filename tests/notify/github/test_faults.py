"""What the sink makes of a GitHub that is out of order, and of settings that are wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.notify.base import Cause
from pipeline.notify.base.preview import Preview
from pipeline.notify.github import record
from pipeline.notify.github.sink import GithubSink
from pipeline.notify.github.transport import GithubResponse
from pipeline.text.errors import UserError
from tests.fakes.github import Asked, Fault, cut, failing, secondary_limit
from tests.notify.github.world import BOT, NAME, RESOLVED, TOKEN, World, regression, words


def posts(world: World) -> int:
    return world.writes().count("POST /issues")


@pytest.fixture
def offered(world: World) -> World:
    """A world whose label is there, so that the first write is an issue."""
    world.night(regression("zz"))
    world.writes()
    return world


def on_creation(world: World, *faults: Fault) -> None:
    """Let the next requests that make issues go wrong, each in its way."""
    left = list(faults)

    def fault(asked: Asked) -> Fault | None:
        makes = asked.method == "POST" and asked.path.endswith("/issues")
        return left.pop(0) if left and makes else None

    world.fake.fault = fault


@pytest.mark.parametrize("fault", [failing(502, done=True), cut(done=True)])
def test_an_issue_that_was_made_without_an_answer_is_found_at_once(
    offered: World, fault: Fault
) -> None:
    offered.fake.behind = lambda asked: 5
    on_creation(offered, fault)
    result = offered.night(regression("aa"))
    (action,) = result.actions
    assert action.new and action.place.endswith("/issues/2") and result.left == ()
    offered.night(regression("aa", series=2))
    assert posts(offered) == 1


@pytest.mark.parametrize("fault", [failing(500), cut()])
def test_an_issue_that_was_not_made_is_made_once_that_is_certain(
    offered: World, fault: Fault
) -> None:
    on_creation(offered, fault)
    (said,) = offered.night(regression("aa")).left
    assert said.startswith("aa: ") and "it is unknown whether GitHub" in said
    assert posts(offered) == 1
    # A few minutes later it may still be under way.
    offered.times.pass_by(minutes=2)
    sink = offered.sink()
    (said,) = sink.report([Cause(regressions=(regression("aa"),))], words, suspected=False).left
    assert "may still be pending" in said and posts(offered) == 0
    assert offered.night(regression("aa")).left == ()
    assert posts(offered) == 1


def test_the_intent_is_on_the_disk_before_an_issue_is_made(
    offered: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.suffix == ".partial" and '"creating"' in path.read_text():
            done.append("intent")
        sync(descriptor)

    def fault(asked: Asked) -> None:
        if asked.method == "POST" and asked.path.endswith("/issues"):
            done.append("issue")

    monkeypatch.setattr(os, "fsync", fsync)
    offered.fake.fault = fault
    offered.night(regression("aa"))
    assert done == ["intent", "issue"]


def test_an_answer_that_cannot_be_understood_is_no_reason_to_make_another(offered: World) -> None:
    send = offered.transport

    def garbled(method: str, path: str, query: Mapping[str, Any], payload: Any) -> GithubResponse:
        answer = send(method, path, query, payload)
        makes = method == "POST" and path.endswith("/issues")
        return answer._replace(data={"id": 1}) if makes else answer

    offered.transport = garbled
    (action,) = offered.night(regression("aa")).actions
    assert action.new and action.place.endswith("/issues/2")
    offered.night(regression("aa"))
    assert posts(offered) == 1


def test_a_limit_passes_and_nothing_is_lost(offered: World) -> None:
    on_creation(offered, secondary_limit(60), secondary_limit(None, status=429))
    assert offered.night(regression("aa")).left == ()
    assert [issue.title[-2:] for issue in offered.repository.listed()] == ["zz", "aa"]


def test_out_of_order_is_one_line_and_is_made_up_for(offered: World) -> None:
    offered.fake.fault = lambda asked: failing(503)
    result = offered.night(regression("aa"), regression("bb"))
    assert result.actions == ()
    assert all("GitHub returned 503" in line and "\n" not in line for line in result.left)
    assert 1 <= len(result.left) <= 2
    offered.fake.fault = lambda asked: None
    assert len(offered.night(regression("aa"), regression("bb")).actions) == 2


def test_one_issue_that_is_refused_does_not_hold_up_the_others(offered: World) -> None:
    offered.night(regression("aa"), regression("bb"))
    path = f"/repos/{NAME}/issues/2"
    offered.fake.fault = lambda asked: (
        failing(422) if asked.method == "PATCH" and asked.path == path else None
    )
    result = offered.night(regression("aa", series=2), regression("bb", series=2))
    (said,) = result.left
    assert said.startswith("aa: ") and "422" in said
    assert [action.fingerprint for action in result.actions] == ["bb"]


def test_a_comment_whose_answer_was_lost_is_not_said_again(offered: World) -> None:
    offered.night(regression("aa"))
    lost = [failing(502, done=True)]
    offered.fake.fault = lambda asked: (
        lost.pop() if lost and asked.path.endswith("/comments") and asked.writes else None
    )
    assert len(offered.night(regression("aa", RESOLVED)).left) == 1
    assert offered.night(regression("aa", RESOLVED)).left == ()
    assert len(offered.bodies(2)) == 1 and offered.repository.issue(2).state == "closed"


def test_what_is_shown_is_what_would_be_sent(world: World) -> None:
    shown: list[Preview] = []
    causes = [Cause(regressions=(regression("aa"),))]
    for _ in range(2):
        result = world.sink(shown.append).report(causes, words, suspected=False)
        assert [action.new for action in result.actions] == [True]
    assert world.writes() == [] and not (world.results / record.FILE).exists()
    world.night(regression("aa"))
    sent = [each for each in world.fake.asked if each.writes]
    as_shown = [(each.method, each.place, each.payload) for each in shown[:2]]
    at = "https://api.github.com"
    assert as_shown == [(each.method, at + each.path, each.body) for each in sent]
    assert TOKEN not in str(shown)
    shown.clear()
    world.writes()
    gone = [Cause(regressions=(regression("aa", RESOLVED),))]
    world.sink(shown.append).report(gone, words, suspected=False)
    assert [f"{each.method} {each.place.removeprefix(at)}" for each in shown] == [
        f"PATCH /repos/{NAME}/issues/1",
        f"POST /repos/{NAME}/issues/1/comments",
        f"PATCH /repos/{NAME}/issues/1",
    ]
    assert world.writes() == []


@pytest.mark.parametrize(
    ("repository", "says"),
    [("acme/nothing", "does not exist"), ("acme/private", "does not exist")],
)
def test_a_repository_that_is_not_to_be_seen(world: World, repository: str, says: str) -> None:
    world.fake.repository("acme/private", private=True)
    world.fake.account(TOKEN, "erin")
    world.section = world.section.model_copy(update={"repository": repository})
    with pytest.raises(UserError, match=says):
        world.night(regression("aa"))


def test_a_token_that_is_none(world: World) -> None:
    world.fake.accounts.clear()
    with pytest.raises(UserError, match="GitHub rejects the token in GITHUB_TOKEN"):
        world.night(regression("aa"))


def test_a_token_that_may_only_read(world: World) -> None:
    world.fake.account(TOKEN, BOT, {"issues": "read"})
    with pytest.raises(UserError, match=("lacks a permission for acme/bench")) as raised:
        world.night(regression("aa"))
    assert "\n" not in str(raised.value)
    # Nothing is under way: with a good token it is made at once.
    world.fake.account(TOKEN, BOT)
    sink = world.sink()
    causes = [Cause(regressions=(regression("aa"),))]
    assert len(sink.report(causes, words, suspected=False).actions) == 1


def test_a_token_whose_labels_are_dropped(world: World) -> None:
    """GitHub takes an issue of everybody, and labels only of those who may set them."""
    world.fake.account(TOKEN, "erin")
    world.repository.add_label("acknowledged")
    with pytest.raises(UserError, match="may not set labels"):
        world.night(regression("aa"), regression("bb"))
    assert len(world.repository.listed()) == 1
    world.fake.account(TOKEN, BOT)
    world.night(regression("aa"))
    assert len(world.repository.listed()) == 1


def test_a_record_that_is_none_of_ours(world: World) -> None:
    world.results.mkdir()
    (world.results / record.FILE).write_text("{")
    with pytest.raises(UserError, match=("delete the file")):
        world.night(regression("aa"))


def test_over_a_network_with_pygithub(world: World) -> None:
    with world.fake.serving():
        section = world.section.model_copy(update={"url": world.fake.url})
        for state in (None, None, RESOLVED):
            one = regression("aa", state) if state else regression("aa")
            sink = GithubSink(section, world.results, TOKEN, clock=world.times.clock())
            assert sink.decisions() == []
            sink.report([Cause(regressions=(one,))], words, suspected=False)
            world.times.pass_by(days=1)
    (issue,) = world.repository.listed()
    assert (issue.state, issue.closed_by) == ("closed", BOT)
