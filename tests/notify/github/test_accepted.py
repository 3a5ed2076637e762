"""What a maintainer accepted in a pull request is a decision about the regression of its commit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pipeline.config import GithubSection
from pipeline.model import Culprit, Supply
from pipeline.notify.base import DecisionKind, PersonDecision, RegressedCommit
from pipeline.notify.base.decisions import take_decisions
from pipeline.notify.base.links import RevisionOrigin
from pipeline.notify.github.sink import GithubSink
from pipeline.regressions.states import KnownRegression
from pipeline.storage.journal import Event, EventKind
from pipeline.use_cases.notify import regressed_commit
from tests.fakes.github import failing
from tests.notify.github import test_command, test_pulls
from tests.notify.github.test_command import Say
from tests.notify.github.test_pulls import SAME, SLOWER, TOKEN, Hub, Publish
from tests.notify.github.world import Times
from tests.notify.samples import WORSE, confirmed

hub, publish, say = test_pulls.hub, test_pulls.publish, test_command.say

MERGED = "e" * 40
COMMIT = RegressedCommit(repository="acme/db", sha=MERGED, target="sqlite")


def accepted(
    hub: Hub, commit: RegressedCommit = COMMIT, sink: GithubSink | None = None
) -> list[PersonDecision]:
    """Return what a night reads about the regression of a commit."""
    section = GithubSection(repository="acme/db", url=hub.fake.url)
    clock = Times().clock()
    made = sink or GithubSink(section, hub.folder / "results", TOKEN, clock=clock)
    return list(made.accepted({"f1": commit}))


@pytest.fixture
def merged(hub: Hub, publish: Publish, say: Say) -> Hub:
    """A pull request whose regression was accepted, and which was merged."""
    publish(SLOWER)
    say("/nightshift accept checksums of pages are worth it")
    hub.repository.merge("alice", hub.number, MERGED)
    return hub


def test_author_time_and_reason_are_those_of_the_comment(merged: Hub) -> None:
    comment = next(each for each in merged.comments if each.user == "alice")
    (decision,) = accepted(merged)
    assert decision == PersonDecision(
        fingerprint="f1",
        kind=DecisionKind.ACKNOWLEDGED,
        by="alice",
        at=comment.created.replace(microsecond=0),
        note=f"accepted in #{merged.number}: checksums of pages are worth it, "
        f"https://github.test/acme/db/issues/{merged.number}#issuecomment-{comment.id}",
    )


def test_later_nights_respect_it(merged: Hub) -> None:
    """The regression is found, confirmed, and then acknowledged by the person, once."""
    (decision,) = accepted(merged)
    found = confirmed(WORSE).model_copy(update={"fingerprint": "f1"})
    history = KnownRegression(found)
    later = decision.at + timedelta(days=2)
    history.events.append(Event(at=later, event=EventKind.FOUND, fingerprint="f1"))
    known = {"f1": history}
    (event,) = take_decisions([decision], known)
    assert (event.event, event.by, event.at) == (EventKind.ACKNOWLEDGED, "alice", decision.at)
    assert history.state.value == "acknowledged"
    assert take_decisions(accepted(merged), known) == []


def test_what_is_not_merged_decides_nothing(hub: Hub, publish: Publish, say: Say) -> None:
    publish(SLOWER)
    say("/nightshift accept fine")
    hub.repository.push(MERGED)
    assert accepted(hub) == []


def test_a_head_that_was_measured_again_and_not_accepted_decides_nothing(
    hub: Hub, publish: Publish, say: Say
) -> None:
    publish(SLOWER)
    say("/nightshift accept fine")
    publish(SAME, of=hub.measure())
    hub.repository.merge("alice", hub.number, MERGED)
    assert accepted(hub) == []


@pytest.mark.parametrize("who", ["mallory", "bob"])
def test_strangers_decide_nothing(merged: Hub, who: str) -> None:
    """Neither before nor after the merge, whatever they write."""
    (own,) = accepted(merged)
    merged.repository.comment(who, merged.number, "/nightshift accept mine")
    assert accepted(merged) == [own]
    merged.repository.access.roles["alice"] = "read"
    assert accepted(merged) == []


def test_what_is_written_after_the_merge_decides_nothing(merged: Hub) -> None:
    (own,) = accepted(merged)
    merged.fake.clock = lambda: datetime.now(UTC) + timedelta(minutes=1)
    merged.repository.comment("alice", merged.number, "/nightshift accept another reason")
    assert accepted(merged) == [own]


@pytest.mark.parametrize(
    "commit",
    [
        COMMIT.model_copy(update={"target": "postgres"}),
        COMMIT.model_copy(update={"repository": "acme/other"}),
        COMMIT.model_copy(update={"sha": "f" * 40}),
    ],
)
def test_of_other_targets_repositories_and_commits_nothing_is_known(
    merged: Hub, commit: RegressedCommit
) -> None:
    assert accepted(merged, commit) == []


def test_github_that_is_away_is_a_line_and_read_the_next_time(merged: Hub) -> None:
    merged.fake.fault = lambda asked: failing(502)
    section = GithubSection(repository="acme/db", url=merged.fake.url)
    sink = GithubSink(section, merged.folder / "results", TOKEN, clock=Times().clock())
    assert accepted(merged, sink=sink) == []
    merged.fake.fault = lambda asked: None
    left = sink.report([], lambda *_: pytest.fail("nothing is new"), suspected=False).left
    assert left[0].startswith("accepted regressions were not read from pull requests")
    assert len(accepted(merged)) == 1


def test_the_commit_is_that_of_the_culprit_or_else_the_first_bad_one() -> None:
    supply = Supply(kind="git", name="db", coordinates="https://github.com/acme/db.git")
    origins = {label: RevisionOrigin(supply, f"{label} in full") for label in ("17.11", "c0ffee")}

    def find(label: str) -> RevisionOrigin:
        return origins.get(label, RevisionOrigin())

    known = regressed_commit(WORSE, find)
    assert known == RegressedCommit(repository="acme/db", sha="17.11 in full", target="postgres")
    culprit = Culprit(revision="c0ffee", parent="17.10", probability=1.0, confirmed=True)
    known = regressed_commit(WORSE.model_copy(update={"culprit": culprit}), find)
    assert known is not None and known.sha == "c0ffee in full"
    assert regressed_commit(WORSE, lambda _: RevisionOrigin()) is None
