"""The fake of GitHub as PyGithub sees it: what tests of the sink and of pull requests rest on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from github import Auth, Github, GithubException, RateLimitExceededException
from github.Repository import Repository

from tests.fakes.github import (
    FakeGithub,
    Fault,
    cut,
    failing,
    primary_limit,
    secondary_limit,
)

SHA = "a" * 40


@pytest.fixture
def fake() -> Iterator[FakeGithub]:
    fake = FakeGithub()
    acme = fake.repository("acme/db")
    acme.access.roles |= {"alice": "write", "tom": "triage"}
    fake.account("app", "nightshift[bot]")
    fake.account("alice", "alice")
    fake.account("eve", "eve")
    with fake.serving():
        yield fake


def of(fake: FakeGithub, who: str = "app") -> Repository:
    """Return the repository as somebody sees it by PyGithub."""
    auth = Auth.Token(who) if who else None
    github = Github(
        auth=auth,
        base_url=fake.url,
        retry=None,
        seconds_between_requests=0,
        seconds_between_writes=0,
    )
    return github.get_repo("acme/db")


def ask(method: str, url: str, **said: Any) -> requests.Response:
    return requests.request(method, url, timeout=60, **said)


def refused(status: int) -> pytest.RaisesExc[GithubException]:
    return pytest.RaisesExc(GithubException, check=lambda error: error.status == status)


def test_an_issue_lives(fake: FakeGithub) -> None:
    issue = of(fake).create_issue("slower", body="much", labels=["nightshift", "new"])
    issue.create_comment("since yesterday")
    issue.edit(state="closed", state_reason="not_planned")
    assert (issue.number, issue.state, issue.state_reason) == (1, "closed", "not_planned")
    assert issue.closed_by is not None
    assert issue.closed_by.login == issue.user.login == "nightshift[bot]"
    assert issue.user.type == "Bot"
    issue.edit(state="open", title="slower by 10 %", labels=["nightshift"])
    assert issue.closed_at is None
    assert [label.name for label in issue.labels] == ["nightshift"]
    assert [comment.body for comment in issue.get_comments()] == ["since yesterday"]
    assert [event.event for event in issue.get_events()] == [
        "labeled",
        "labeled",
        "closed",
        "unlabeled",
        "renamed",
        "reopened",
    ]
    assert [comment.body for comment in fake.repository("acme/db").all_comments()] == [
        "since yesterday"
    ]


def test_listings_come_in_pages_with_pull_requests_among_them(fake: FakeGithub) -> None:
    acme = fake.repository("acme/db")
    for number in range(130):
        acme.open("alice", f"{number}", labels=["nightshift"] if number % 2 else ["other"])
    acme.open_pull("alice", "a change", sha=SHA, labels=["nightshift"])
    found = list(of(fake).get_issues(state="all", labels=["nightshift"]))
    assert [issue.number for issue in found] == [131, *range(130, 1, -2)]
    assert found[0].pull_request is not None and found[1].pull_request is None
    assert of(fake).get_issues().totalCount == 131
    listed = [asked for asked in fake.asked if asked.path.endswith("/issues")]
    pages = [asked.query.get("page", "1") for asked in listed[:3]]
    assert pages == ["1", "2", "3"]


def test_an_issue_can_be_gone_or_elsewhere(fake: FakeGithub) -> None:
    acme, other = fake.repository("acme/db"), fake.repository("acme/other")
    gone, moved = acme.open("alice", "gone"), acme.open("alice", "moved", labels=["nightshift"])
    acme.comment("alice", moved.number, "not ours")
    acme.delete(gone.number)
    acme.transfer(moved.number, other)
    with refused(410):
        of(fake).get_issue(gone.number)
    there = of(fake).get_issue(moved.number)
    assert there.repository.full_name == "acme/other"
    assert [comment.body for comment in there.get_comments()] == ["not ours"]
    assert list(of(fake).get_issues(state="all")) == []
    with refused(404):
        of(fake).get_issue(3)


def test_a_locked_issue_is_open_to_those_who_write(fake: FakeGithub) -> None:
    acme = fake.repository("acme/db")
    acme.lock("alice", acme.open("alice", "heated").number)
    with refused(403):
        of(fake, "eve").get_issue(1).create_comment("no")
    of(fake, "alice").get_issue(1).create_comment("yes")
    assert [comment.user for comment in acme.all_comments()] == ["alice"]


@pytest.mark.parametrize(
    ("body", "field"),
    [({"title": "x" * 257}, "title"), ({"title": "x", "body": "y" * 65_537}, "body")],
)
def test_what_is_too_long_is_refused(fake: FakeGithub, body: dict[str, str], field: str) -> None:
    answer = ask(
        "POST",
        f"{fake.url}/repos/acme/db/issues",
        json=body,
        headers={"Authorization": "token app"},
    )
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field
    assert fake.repository("acme/db").numbers == 0


# --- who may -------------------------------------------------------------------------


def test_strangers_read_and_open_and_do_no_more(fake: FakeGithub) -> None:
    acme = fake.repository("acme/db")
    mine = of(fake, "eve").create_issue("mine", labels=["nightshift"])
    assert acme.issue(mine.number).labels == ()
    acme.open("alice", "hers")
    with refused(403):
        of(fake, "eve").get_issue(2).edit(state="closed")
    with refused(403):
        mine.add_to_labels("nightshift")
    with refused(403):
        of(fake, "eve").create_label("new", "aabbcc")
    mine.edit(state="closed")
    assert acme.issue(1).closed_by == "eve"


def test_without_a_token_nothing_is_written(fake: FakeGithub) -> None:
    fake.repository("acme/db").open("alice", "public")
    assert of(fake, "").get_issue(1).title == "public"
    with refused(401):
        of(fake, "").create_issue("no")
    with refused(401):
        of(fake, "wrong").get_issue(1)


def test_a_token_may_what_it_says(fake: FakeGithub) -> None:
    fake.account("narrow", "narrow[bot]", {"issues": "write", "checks": "read"})
    acme = fake.repository("acme/db")
    acme.push(SHA)
    of(fake, "narrow").create_issue("allowed")
    with pytest.raises(GithubException, match="Resource not accessible by integration"):
        of(fake, "narrow").create_check_run("check", SHA)
    with pytest.raises(GithubException, match="must authenticate via a GitHub App"):
        of(fake, "alice").create_check_run("check", SHA)
    fake.account("elsewhere", "other[bot]", only="acme/other")
    with refused(403):
        of(fake, "elsewhere").create_issue("not of its repository")
    assert acme.checks.all() == []
    assert acme.numbers == 1


def test_only_people_can_query_their_own_account(fake: FakeGithub) -> None:
    answers = [ask("GET", f"{fake.url}/user", headers=h) for h in _headers("alice", "app")]
    assert [answer.status_code for answer in answers] == [200, 403]
    assert answers[0].json()["login"] == "alice"


def test_a_private_repository_is_not_there_for_strangers(fake: FakeGithub) -> None:
    fake.repository("acme/db").access.private = True
    fake.repository("acme/db").open("alice", "secret")
    assert of(fake, "alice").get_issue(1).title == "secret"
    with refused(404):
        of(fake, "eve")


def _headers(*tokens: str) -> list[dict[str, str]]:
    return [{"Authorization": f"Bearer {token}"} for token in tokens]


# --- pull requests, checks, artifacts ------------------------------------------------


def test_a_pull_request_of_a_fork(fake: FakeGithub) -> None:
    acme = fake.repository("acme/db")
    fake.repository("eve/db", fork_of="acme/db")
    number = acme.open_pull(
        "eve", "faster", sha=SHA, head="eve/db", branch="fast", files=["src/a.c", "src/b.c"]
    ).number
    pull = of(fake).get_pull(number)
    assert (pull.head.sha, pull.head.repo.full_name) == (SHA, "eve/db")
    assert [file.filename for file in pull.get_files()] == ["src/a.c", "src/b.c"]
    assert [each.number for each in of(fake).get_pulls(head="eve:fast")] == [number]
    # GitHub does not know it by its commit.
    assert list(of(fake).get_commit(SHA).get_pulls()) == []
    acme.push_to_pull(number, "b" * 40)
    assert of(fake).get_pull(number).head.sha == "b" * 40


def test_check_runs_and_statuses(fake: FakeGithub) -> None:
    fake.repository("acme/db").push(SHA)
    said = {"path": "a.c", "start_line": 1, "end_line": 1, "annotation_level": "failure"}
    output = {"title": "t", "summary": "s", "annotations": [said | {"message": "slower"}] * 50}
    check = of(fake).create_check_run("nightshift", SHA, external_id="7", status="in_progress")
    check.edit(conclusion="failure", output=output)
    assert (check.status, check.conclusion, check.external_id) == ("completed", "failure", "7")
    check.edit(output=output)
    assert check.get_annotations().totalCount == 100
    output["annotations"] = [*output["annotations"], *output["annotations"]]
    with refused(422):
        check.edit(output=output)
    of(fake).create_check_run("nightshift", SHA, conclusion="success")
    newest = of(fake).get_commit(SHA).get_check_runs(check_name="nightshift")
    assert [run.conclusion for run in newest] == ["success"]
    commit = of(fake).get_commit(SHA)
    commit.create_status("pending", context="nightshift")
    commit.create_status("success", context="nightshift")
    assert commit.get_combined_status().state == "success"
    assert [status.state for status in commit.get_statuses()] == ["success", "pending"]
    with refused(422):
        commit.create_status("success", description="x" * 141)
    with refused(422):
        of(fake).create_check_run("nightshift", "b" * 40)


def test_an_artifact_lies_elsewhere(fake: FakeGithub) -> None:
    acme = fake.repository("acme/db")
    run = acme.start("measure.yml", event="pull_request", sha=SHA)
    artifact = acme.upload(run.id, "answer", b"PK...")
    (listed,) = of(fake).get_workflow_run(run.id).get_artifacts()
    assert (listed.name, listed.size_in_bytes, listed.expired) == ("answer", 5, False)
    headers = _headers("app")[0]
    assert ask("GET", listed.archive_download_url).status_code == 401
    there = ask("GET", listed.archive_download_url, headers=headers)
    assert there.content == b"PK..."
    assert there.url.startswith(fake.storage) and fake.storage != fake.url
    assert ask("GET", there.url, headers=headers).status_code == 400
    acme.expire(artifact.id)
    assert ask("GET", listed.archive_download_url, headers=headers).status_code == 410


def test_workflows_are_started_and_runners_registered(fake: FakeGithub) -> None:
    acme = fake.repository("acme/db")
    workflow = acme.add_workflow("measure.yml")
    assert of(fake).get_workflow("measure.yml").create_dispatch("main", {"number": "7"})
    (run,) = acme.runs.all()
    assert (run.workflow, run.event, run.inputs) == (workflow, "workflow_dispatch", {"number": "7"})
    url = f"{fake.url}/repos/acme/db/actions/runners"
    wanted = {"name": "bench-1", "runner_group_id": 1, "labels": ["ccx33"]}
    answers = [
        ask("POST", f"{url}/generate-jitconfig", json=wanted, headers=headers)
        for headers in _headers("app", "app", "eve")
    ]
    assert [answer.status_code for answer in answers] == [201, 409, 403]
    assert answers[0].json()["encoded_jit_config"]
    (runner,) = of(fake).get_self_hosted_runners()
    assert of(fake).remove_self_hosted_runner(runner)
    assert acme.runners.all() == []


# --- what goes wrong -----------------------------------------------------------------


MEASURES = """
name: measures
on: {workflow_dispatch: {inputs: {number: {required: true}, mode: {required: false}}}}
"""
PUBLISHES = "on: {workflow_run: {workflows: [measures], types: [completed]}}"


@pytest.mark.parametrize(
    ("login", "told"), [("github-actions[bot]", 0), ("ours[bot]", 1), ("alice", 1)]
)
def test_the_end_of_a_run_that_a_workflow_s_token_started_is_told_to_nobody(
    fake: FakeGithub, login: str, told: int
) -> None:
    """An App's token and a person's are told, as is what nobody started by a token."""
    acme = fake.repository("acme/db")
    acme.add_workflow("measure.yml", text=MEASURES)
    acme.add_workflow("publish.yml", text=PUBLISHES)
    fake.account("token", login)
    assert of(fake, "token").get_workflow("measure.yml").create_dispatch("main", {"number": "1"})
    (run,) = acme.runs.all()
    acme.finish(run.id)
    ended = [each for each in acme.runs.all() if each.event == "workflow_run"]
    assert [each.after for each in ended] == [run.id] * told


@pytest.mark.parametrize(
    ("workflow", "inputs", "said"),
    [
        ("measure.yml", {"number": "1", "steps": "scan"}, 'Unexpected inputs provided: ["steps"]'),
        ("measure.yml", {"mode": "count"}, "Required input 'number' not provided"),
        ("publish.yml", {}, "Workflow does not have 'workflow_dispatch' trigger"),
    ],
)
def test_a_workflow_is_started_by_its_own_inputs_alone(
    fake: FakeGithub, workflow: str, inputs: dict[str, str], said: str
) -> None:
    acme = fake.repository("acme/db")
    acme.add_workflow("measure.yml", text=MEASURES)
    acme.add_workflow("publish.yml", text=PUBLISHES)
    answer = ask(
        "POST",
        f"{fake.url}/repos/acme/db/actions/workflows/{workflow}/dispatches",
        json={"ref": "main", "inputs": inputs},
        headers={"Authorization": "Bearer app"},
    )
    assert (answer.status_code, answer.json()["message"]) == (422, said)
    assert acme.runs.all() == []


def test_a_workflow_without_a_name_is_called_by_its_path(fake: FakeGithub) -> None:
    acme = fake.repository("acme/db")
    acme.add_workflow("measure.yml", text=MEASURES)
    acme.add_workflow("publish.yml", text=PUBLISHES)
    names = [each.name for each in of(fake).get_workflows()]
    assert names == ["measures", ".github/workflows/publish.yml"]


def test_a_comment_has_each_reaction_of_an_account_once(fake: FakeGithub) -> None:
    acme = fake.repository("acme/db")
    acme.open_pull("alice", "faster", sha=SHA)
    comment = acme.comment("alice", 1, "/nightshift")
    fake.account("reader", "reader[bot]", {"pull_requests": "read"})
    for _ in range(2):
        of(fake).get_issue(1).get_comment(comment.id).create_reaction("eyes")
    assert [each.content for each in acme.reactions_of(comment.id)] == ["eyes"]
    with refused(403):
        of(fake, "reader").get_issue(1).get_comment(comment.id).create_reaction("eyes")


def test_faults_are_used_up_in_order(fake: FakeGithub) -> None:
    seen = of(fake)
    fake.faults = [failing(502), None, secondary_limit(7), primary_limit(2**31, status=429)]
    with refused(502):
        seen.create_issue("not done")
    seen.create_issue("done")
    with pytest.raises(RateLimitExceededException) as secondary:
        seen.get_issue(1)
    assert secondary.value.headers is not None
    assert secondary.value.headers["retry-after"] == "7"
    with refused(429):
        seen.get_issue(1)
    assert seen.get_issue(1).title == "done"
    assert [asked.status for asked in fake.asked[1:]] == [502, 201, 403, 429, 200]
    assert [asked.done for asked in fake.asked[1:]] == [False, True, False, False, True]


@pytest.mark.parametrize("done", [False, True])
def test_a_write_whose_answer_is_lost(fake: FakeGithub, done: bool) -> None:
    seen = of(fake)
    fake.faults = [cut(done=done), failing(done=done)]
    with pytest.raises(requests.ConnectionError):
        seen.create_issue("who knows")
    with refused(500):
        seen.create_issue("who knows")
    assert fake.repository("acme/db").numbers == 2 * done
    assert fake.faults == []


def test_faults_by_request(fake: FakeGithub) -> None:
    seen = of(fake)
    fake.fault = lambda asked: Fault(503) if asked.writes else None
    with refused(503):
        seen.create_issue("no")
    assert list(seen.get_issues()) == []


def test_listings_can_be_behind(fake: FakeGithub) -> None:
    fake.behind = lambda asked: 1
    first = of(fake).create_issue("first", labels=["nightshift"])
    assert list(of(fake).get_issues()) == []
    assert of(fake).get_issue(first.number).title == "first"
    of(fake).create_issue("second")
    assert [issue.title for issue in of(fake).get_issues()] == ["first"]
    assert [label.name for label in of(fake).get_issues()[0].labels] == ["nightshift"]
    of(fake).create_label("fresh", "aabbcc")
    with refused(404):
        of(fake).get_label("fresh")
    fake.behind = lambda asked: 0
    assert of(fake).get_label("fresh").color == "aabbcc"


def test_listings_can_be_behind_by_a_time(fake: FakeGithub) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    fake.clock = lambda: now
    fake.behind = lambda asked: timedelta(seconds=30)
    of(fake).create_issue("old")
    now += timedelta(seconds=40)
    of(fake).create_issue("new")
    assert [issue.title for issue in of(fake).get_issues()] == ["old"]


# --- as a process --------------------------------------------------------------------


def test_it_runs_as_a_process_and_leaves_its_state(tmp_path: Path) -> None:
    seed = {
        "accounts": [{"token": "app", "login": "nightshift[bot]"}],
        "repositories": [
            {"name": "eve/db", "fork_of": "acme/db"},
            {
                "name": "acme/db",
                "pulls": [{"user": "eve", "title": "faster", "sha": SHA, "head": "eve/db"}],
                "runs": [{"workflow": "measure.yml", "event": "pull_request", "sha": SHA}],
            },
        ],
    }
    command = [sys.executable, "-m", "tests.fakes.github", "--state", str(tmp_path / "state")]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            made = ask("POST", f"{url}/_seed", json=seed).json()
            assert made["pulls"] == [1]
            place = f"repository=acme/db&run={made['runs'][0]}&name=answer"
            assert ask("POST", f"{url}/_artifact?{place}", data=b"PK").status_code == 201
            assert ask("GET", f"{url}/_artifact?{place}").content == b"PK"
            headers = {"Authorization": "token app"}
            issue = ask("POST", f"{url}/repos/acme/db/issues", json={"title": "x"}, headers=headers)
            assert issue.status_code == 201
            now = ask("GET", f"{url}/_state").json()
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    left = json.loads((tmp_path / "state").read_text())
    assert left == now
    acme = left["repositories"]["acme/db"]
    assert [each["title"] for each in acme["issues"]] == ["faster", "x"]
    assert [each["name"] for each in acme["artifacts"]] == ["answer"]
    assert "app" not in left["asked"][0]["headers"].values()
