"""A comment starts a measurement or accepts a regression, by the real command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.cli import main
from pipeline.notify.github.command import (
    AcceptCommand,
    MeasureCommand,
    is_command,
    parse_command,
)
from pipeline.text.errors import UserError
from tests.cli.conftest import Ran
from tests.fakes.github.things import Run
from tests.notify.answers import HEAD
from tests.notify.github import test_pulls
from tests.notify.github.test_pulls import BOT, FAILED, OTHER, SAME, SLOWER, TOKEN, Hub, Publish
from tools.pasted import pasted

hub, publish = test_pulls.hub, test_pulls.publish

MEASURES = ".github/workflows/nightshift.yml"
PUBLISHES = ".github/workflows/nightshift-publish.yml"
DISPATCH = Path(__file__).parents[3] / ".github/actions/dispatch/dispatch.py"

Say = Callable[..., Ran]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/nightshift", MeasureCommand()),
        ("  /nightshift  \r\nbecause of #12", MeasureCommand()),
        ("/nightshift mode=count", MeasureCommand(mode="count")),
        (
            "/nightshift steps=scan,point-query_range=100 mode=time",
            MeasureCommand(("scan", "point-query_range=100"), "time"),
        ),
        ("/nightshift accept  the new  checksum", AcceptCommand("the new checksum")),
    ],
)
def test_commands(text: str, command: object) -> None:
    assert is_command(text)
    assert parse_command(text) == command


@pytest.mark.parametrize(
    "text",
    ["", "nightshift", "/nightshiftly", "please /nightshift", "\n/nightshift", "> /nightshift"],
)
def test_other_comments(text: str) -> None:
    assert not is_command(text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("now", "'now' is not a valid argument; write /nightshift, /nightshift steps="),
        ("target=postgres", "'target=postgres' is not a valid argument"),
        ("--mode count", "'--mode' is not a valid argument"),
        ("mode=fast", "mode=fast is not a mode; write mode=time or mode=count"),
        ("mode=", "mode= is not a mode"),
        ("mode=time mode=count", "mode= appears twice; write it once"),
        ("steps=", "'' is not the name of a step"),
        ("steps=scan,,x", "'' is not the name of a step"),
        ("steps=$(id)", "'$(id)' is not the name of a step"),
        ("steps=`id`", "'`id`' is not the name of a step"),
        ("steps=*", "'*' is not the name of a step"),
        ("steps=--gate", "'--gate' is not the name of a step"),
        ("steps=a;b", "'a;b' is not the name of a step"),
        (f"steps={'x' * 65}", "is not the name of a step"),
        (f"steps={','.join(['a'] * 51)}", "steps= has more than 50 steps"),
        ("accept", "the reason is missing; write /nightshift accept REASON"),
        (f"accept {'x' * 201}", "the reason is longer than 200 characters; shorten it"),
    ],
)
def test_arguments_are_checked_word_by_word(arguments: str, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)) as error:
        parse_command(f"/nightshift {arguments}")
    assert len(str(error.value).splitlines()) == 1


@pytest.fixture
def say(hub: Hub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Comment on the pull request, and run what the comment starts."""
    may = {"actions": "write", "checks": "write", "pull_requests": "write", "contents": "read"}
    hub.fake.account(TOKEN, BOT, may, only="acme/db")
    hub.repository.access.roles |= {"alice": "write", "bob": "triage", "carol": "read"}
    for path, text in pasted("docs/guide/github.md").items():
        hub.repository.add_workflow(path, text=text)

    def run(
        text: str, who: str = "alice", branch: str = "", *, code: int = 0, on: int | None = None
    ) -> Ran:
        number = on or hub.number
        comment = hub.repository.comment(who, number, text)
        about = f"/repos/{hub.repository.full_name}"
        event = {
            "action": "created",
            "issue": hub.shown(f"{about}/issues/{number}"),
            "comment": hub.shown(f"{about}/issues/comments/{comment.id}"),
            "repository": hub.shown(about),
        }
        file = hub.folder / "comment.json"
        file.write_text(json.dumps(event))
        words = ["pull-request", "command", "--event", str(file), "--repository", "acme/db"]
        words += ["--branch", branch]
        monkeypatch.setattr(sys, "argv", ["nightshift", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        streams = capsys.readouterr()
        assert ended.value.code == code, streams.err
        assert TOKEN not in streams.out + streams.err
        return Ran(code, streams.out, streams.err)

    return run


def reactions(hub: Hub) -> list[str]:
    """Return the reactions on the newest comment."""
    comment = hub.repository.all_comments()[-1]
    return [each.content for each in hub.repository.reactions_of(comment.id) if each.user == BOT]


def test_a_comment_measures_the_commits_of_this_moment(hub: Hub, say: Say) -> None:
    ran = say("/nightshift steps=scan,point-query mode=count")
    (run,) = hub.repository.runs.all()
    assert (run.event, run.workflow.path, run.branch) == ("workflow_dispatch", MEASURES, "main")
    assert run.inputs == {
        "number": str(hub.number),
        "base": hub.repository.tip,
        "head": HEAD,
        "steps": "scan point-query",
        "mode": "count",
    }
    assert ran.out == f"started nightshift.yml for #{hub.number} at {HEAD}\n"
    assert reactions(hub) == ["eyes"]


@pytest.mark.parametrize("who", ["mallory", "bob", "carol"])
@pytest.mark.parametrize("text", ["/nightshift", "/nightshift accept it", "/nightshift $(id)"])
def test_only_people_who_may_write_are_obeyed(
    hub: Hub, say: Say, publish: Publish, who: str, text: str
) -> None:
    """A triager is a collaborator by author_association, too."""
    publish(SLOWER)
    before = hub.checks, hub.comments
    ran = say(text, who)
    assert ran.out == f"{who} may not write to acme/db, so the command is ignored\n"
    assert "workflow_dispatch" not in [run.event for run in hub.repository.runs.all()]
    assert (hub.checks, hub.comments[:-1]) == before
    assert reactions(hub) == ["eyes", "confused"]


@pytest.mark.parametrize("text", ["/nightshiftly", "see /nightshift", "thanks"])
def test_other_comments_do_nothing(hub: Hub, say: Say, text: str) -> None:
    hub.fake.asked.clear()
    say(text)
    assert hub.writes == []


def test_a_command_on_an_issue_does_nothing(hub: Hub, say: Say) -> None:
    issue = hub.repository.open("alice", "slow")
    say("/nightshift", on=issue.number)
    assert hub.repository.runs.all() == []


def test_wrong_arguments_start_nothing(hub: Hub, say: Say) -> None:
    ran = say("/nightshift steps=$(id)", code=2)
    assert "'$(id)' is not the name of a step" in ran.err
    assert hub.repository.runs.all() == []
    assert reactions(hub) == ["eyes", "confused"]


def test_a_closed_pull_request_is_not_measured(hub: Hub, say: Say) -> None:
    hub.repository.close("alice", hub.number)
    ran = say("/nightshift", code=2)
    assert f"#{hub.number} is closed; reopen it to measure it" in ran.err
    assert reactions(hub) == ["eyes", "confused"]


def test_a_measurement_that_cannot_be_shown_is_started_all_the_same(hub: Hub, say: Say) -> None:
    may = {"actions": "write", "pull_requests": "write", "contents": "read"}
    hub.fake.account(TOKEN, BOT, may, only="acme/db")
    ran = say("/nightshift")
    assert ran.out.startswith("started nightshift.yml")
    assert "the measurement was started, but not announced in the pull request: " in ran.err
    assert len(hub.repository.runs.all()) == 1
    assert reactions(hub) == ["eyes"]


def test_a_workflow_without_the_inputs_is_named(hub: Hub, say: Say) -> None:
    """GitHub refuses inputs that a workflow does not declare (422)."""
    whole = yaml.safe_load(pasted("docs/guide/github.md")[MEASURES])
    del whole[True]["workflow_dispatch"]["inputs"]["mode"]
    hub.repository.set_workflow(MEASURES, text=yaml.safe_dump(whole))
    assert "nightshift.yml for" in say("/nightshift").out
    ran = say("/nightshift mode=count", code=2)
    assert "nightshift.yml was not started (GitHub refuses the request (422: Unexpected" in ran.err
    assert "must have the inputs number, base, head, mode" in ran.err


def behind(hub: Hub, run: Run) -> list[Run]:
    """End a run of the measuring workflow, and return the runs of the publisher that start.

    What its file says is done behind the measurement is done, by the script of the action.
    """
    jobs: Any = yaml.safe_load(run.workflow.text)["jobs"]
    uses = [str(job.get("uses", "")) for job in jobs.values()]
    if run.event == "workflow_dispatch" and any("pull-request-ended.yml" in each for each in uses):
        environ = {
            "GITHUB_API_URL": hub.fake.url,
            "GITHUB_REPOSITORY": "acme/db",
            "GITHUB_TOKEN": TOKEN,
            "WORKFLOW": "nightshift-publish.yml",
            "INPUTS": json.dumps({"run": str(run.id), "attempt": str(run.attempt)}),
        }
        subprocess.run([sys.executable, str(DISPATCH)], env=environ, check=True)
    hub.repository.finish(run.id)
    return [
        each
        for each in hub.repository.runs.all()
        if each.workflow.path == PUBLISHES and each.activity in ("", "completed")
    ]


@pytest.mark.parametrize("moved", [False, True])
def test_a_measurement_that_a_comment_started_is_published(
    hub: Hub, say: Say, monkeypatch: pytest.MonkeyPatch, moved: bool
) -> None:
    say("/nightshift")
    (measuring,) = hub.repository.runs.all()
    title = f"nightshift #{hub.number} at {HEAD}"
    hub.repository.rename_run(measuring.id, title)
    if moved:
        hub.repository.push_to_pull(hub.number, OTHER)
    (publishing,) = behind(hub, hub.repository.runs.all()[0])
    assert (publishing.event, publishing.inputs["run"]) == ("workflow_dispatch", str(measuring.id))
    event = {
        "inputs": dict(publishing.inputs),
        "repository": hub.shown("/repos/acme/db"),
    }
    (hub.folder / "dispatched.json").write_text(json.dumps(event))
    words = ["pull-request", "publish", str(hub.artifact(SLOWER))]
    words += ["--event", str(hub.folder / "dispatched.json"), "--repository", "acme/db"]
    monkeypatch.setattr(sys, "argv", ["nightshift", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    (check,) = hub.checks
    assert (check.sha, check.conclusion) == (HEAD, "failure")
    assert len([each for each in hub.comments if each.user == BOT]) == (0 if moved else 1)


def test_a_measurement_on_a_branch_of_its_own(
    hub: Hub, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs there cannot write the caches of the default branch."""
    assert (
        "must be on the branch measure, and" in say("/nightshift", "alice", "measure", code=2).err
    )
    hub.repository.branches.add("measure")
    say("/nightshift", "alice", "measure")
    (measuring,) = hub.repository.runs.all()
    assert measuring.branch == "measure"
    hub.repository.rename_run(measuring.id, f"nightshift #{hub.number} at {HEAD}")
    (publishing,) = behind(hub, hub.repository.runs.all()[0])
    event = {"inputs": dict(publishing.inputs), "repository": hub.shown("/repos/acme/db")}
    (hub.folder / "dispatched.json").write_text(json.dumps(event))
    words = ["pull-request", "publish", str(hub.artifact(SLOWER)), "--repository", "acme/db"]
    words += ["--event", str(hub.folder / "dispatched.json")]
    for more, code in (([], 2), (["--branch", "measure"], 0)):
        monkeypatch.setattr(sys, "argv", ["nightshift", *words, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code
    assert [check.conclusion for check in hub.checks] == ["failure"]


def test_a_measurement_that_a_label_started_is_published_once(hub: Hub, say: Say) -> None:
    del say
    run = hub.repository.start(MEASURES, event="pull_request", sha=HEAD, actor="alice")
    (publishing,) = behind(hub, run)
    assert (publishing.event, publishing.after) == ("workflow_run", run.id)


def test_a_maintainer_accepts_a_regression(hub: Hub, say: Say, publish: Publish) -> None:
    run = hub.measure()
    publish(SLOWER, of=run)
    (before,) = hub.comments
    ran = say("/nightshift accept checksums cost 10 % <!-- @octocat")
    assert ran.out == "accepted for alice: nightshift / sqlite on small\n"
    (check,) = hub.checks
    assert (check.sha, check.conclusion) == (HEAD, "neutral")
    assert check.title is not None and check.summary is not None
    assert check.title.startswith("Slowdown accepted by alice: checksums cost 10 %")
    assert "@octocat" not in check.title
    assert "**worse**" in check.summary, "the measurement stays to be seen"
    comment = hub.comments[0]
    marker, said, *_ = comment.body.splitlines()
    assert (comment.id, marker) == (before.id, before.body.splitlines()[0])
    assert said.startswith("**Accepted** by `alice`: `checksums cost 10 % <\u200b!-- @octocat`")
    assert "#issuecomment-" in said
    assert reactions(hub) == ["eyes"]
    # Publishing the same measurement again changes nothing.
    after = hub.checks, hub.comments
    publish(SLOWER, of=run)
    assert (hub.checks, hub.comments) == after
    # Another measurement is judged anew.
    publish(SLOWER, of=hub.measure())
    assert [check.conclusion for check in hub.checks] == ["neutral", "failure"]
    assert "Accepted" not in hub.comments[0].body


@pytest.mark.parametrize("answer", [None, SAME, FAILED])
def test_only_a_regression_can_be_accepted(
    hub: Hub, say: Say, publish: Publish, answer: object
) -> None:
    if answer is not None:
        publish(answer)
    before = hub.checks
    ran = say("/nightshift accept it is fine", code=2)
    assert "has no regression to accept; measure it first with /nightshift" in ran.err
    assert reactions(hub) == ["eyes", "confused"]
    assert hub.checks == before


def test_what_was_measured_before_the_last_push_is_not_accepted(
    hub: Hub, say: Say, publish: Publish
) -> None:
    publish(SLOWER)
    hub.repository.push_to_pull(hub.number, OTHER)
    assert "has no regression to accept" in say("/nightshift accept fine", code=2).err
    assert hub.checks[0].conclusion == "failure"


def test_an_event_that_is_no_comment_is_one_line(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    event = hub.event(hub.measure())
    words = ["pull-request", "command", "--event", str(event), "--repository", "acme/db"]
    monkeypatch.setattr(sys, "argv", ["nightshift", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "is not an event of a comment (invalid at issue)" in capsys.readouterr().err
