"""What is said to GitHub, and what the fake answers, fits the description that GitHub publishes."""

from __future__ import annotations

import inspect
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import requests
from github import Auth, Github
from github.Repository import Repository

from pipeline.config import Config, GithubSection
from pipeline.fleet.retry import RetryPolicy
from pipeline.fleet.runners import find_runners
from pipeline.machine.ports import LOOPBACK
from pipeline.notify.github.client import Client, GithubClock
from pipeline.notify.github.settings import read_settings
from pipeline.notify.github.transport import pygithub
from pipeline.use_cases import github_client
from tests.fakes.github import Asked, FakeGithub
from tests.fakes.github.fake import ROUTES
from tests.notify.github import (
    test_command,
    test_decisions,
    test_flows,
    test_issues,
    test_pulls,
)
from tests.notify.github.test_pulls import Hub, Publish
from tests.notify.github.world import TOKEN, Times, World
from tests.openapi.description import JSON, narrowed, queries, same_shape
from tests.openapi.prism import Prism, github
from tests.ports import free_port
from tools.pasted import pasted

SHA = "a" * 40

NOT_DESCRIBED = [("GET", "/repos/{}/{}/statuses/{}")]
"""An old name of a path that PyGithub uses. GitHub answers it and describes its new name alone."""


def operations(whole: JSON) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return what the fake answers as GitHub describes it, and what GitHub does not describe."""
    described = {
        (method.upper(), same_shape(path)): (method, path)
        for path, methods in whole["paths"].items()
        for method in methods
    }
    answered = [("GET", "/user"), ("GET", "/rate_limit")]
    for route in ROUTES:
        path = same_shape(route.path.replace("{repo}", "repos/{owner}/{repo}"))
        # The one format that there is.
        answered.append((route.method, path.removesuffix("/zip") + "/{}" * path.endswith("/zip")))
    return (
        [described[each] for each in answered if each in described],
        [each for each in answered if each not in described],
    )


@pytest.fixture(scope="module")
def description() -> JSON:
    whole = github()
    return narrowed(whole, operations(whole)[0])


@pytest.fixture(scope="module")
def port() -> int:
    """The port of the fake, which is another one for each test, behind one Prism."""
    return free_port()


@pytest.fixture(scope="module")
def proxy(
    description: JSON, port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prism]:
    prism = Prism(tmp_path_factory.mktemp("prism"), description, f"http://{LOOPBACK}:{port}")
    yield prism
    prism.stop()


Behind = Callable[[FakeGithub], AbstractContextManager[None]]


@pytest.fixture
def behind(proxy: Prism, port: int, description: JSON) -> Behind:
    """Serve a fake behind Prism; a test that says anything wrong to it fails."""

    @contextmanager
    def serving(fake: FakeGithub) -> Iterator[None]:
        proxy.forget()
        with fake.serving(port):
            fake.base = proxy.url
            yield
        # Where GitHub says that something has moved, by a path that it does not describe.
        moved = "get /repositories/"
        assert [each for each in proxy.violations if moved not in each] == []
        assert [asked for asked in fake.asked if misspelt(description, asked)] == []

    return serving


@pytest.fixture
def fake(behind: Behind) -> Iterator[FakeGithub]:
    fake = FakeGithub()
    fake.account("app", "nightshift[bot]")
    fake.account("alice", "alice")
    fake.repository("acme/db").access.roles["alice"] = "write"
    with behind(fake):
        yield fake


def misspelt(description: JSON, asked: Asked) -> set[str]:
    """Return the names in a query that mean nothing to GitHub, which ignores them."""
    known = queries(description, asked.method, asked.path)
    return set() if known is None else set(asked.query) - known


def of(fake: FakeGithub, who: str = "app") -> Repository:
    """Return the repository as somebody sees it by PyGithub, through Prism."""
    github = Github(
        auth=Auth.Token(who),
        base_url=fake.url,
        retry=None,
        seconds_between_requests=0,
        seconds_between_writes=0,
    )
    return github.get_repo("acme/db")


# --- what nightshift says ------------------------------------------------------------


def conversations(module: ModuleType, *fixtures: str) -> list[Any]:
    """Return the tests of a module that need these fixtures: each is a conversation with GitHub.

    Without those of long listings, which say nothing else and take Prism its time.
    """
    return [
        pytest.param(test, id=name)
        for name, test in vars(module).items()
        if name.startswith("test_")
        and list(inspect.signature(test).parameters) == list(fixtures)
        and "fit_on_a_page" not in name
    ]


@pytest.fixture
def world(behind: Behind, tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "results")
    with behind(world.fake):
        world.transport = pygithub(world.fake.url, TOKEN)
        yield world


@pytest.mark.parametrize("conversation", conversations(test_issues, "world"))
def test_what_the_sink_says(world: World, conversation: Callable[[World], None]) -> None:
    conversation(world)


filed = test_decisions.filed


@pytest.mark.parametrize("conversation", conversations(test_decisions, "filed"))
def test_what_the_sink_asks(filed: World, conversation: Callable[[World], None]) -> None:
    conversation(filed)


@pytest.fixture
def hub(behind: Behind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    fake = FakeGithub()
    fake.account(test_pulls.TOKEN, test_pulls.BOT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_TOKEN", test_pulls.TOKEN)
    clock = GithubClock(monotonic=Times().seconds, sleep=lambda seconds: None)
    monkeypatch.setattr(github_client, "Client", partial(Client, clock=clock))
    before = signal.getsignal(signal.SIGTERM)
    with behind(fake):
        monkeypatch.setenv("GITHUB_API_URL", fake.url)
        (tmp_path / "nightshift.toml").write_text(f'[github]\nurl = "{fake.url}"\n')
        yield Hub(fake, tmp_path)
    signal.signal(signal.SIGTERM, before)


publish = test_pulls.publish


@pytest.mark.parametrize("conversation", conversations(test_pulls, "hub", "publish"))
def test_what_pull_requests_say(
    hub: Hub, publish: Publish, conversation: Callable[[Hub, Publish], None]
) -> None:
    conversation(hub, publish)


@pytest.mark.parametrize("answer", [test_pulls.SAME, test_pulls.OPEN, test_pulls.FAILED])
def test_every_outcome_of_a_pull_request(hub: Hub, publish: Publish, answer: Any) -> None:
    publish(answer)
    hub.fake.account(test_pulls.TOKEN, "release-bot")
    hub.repository.access.roles["release-bot"] = "write"
    publish(answer, "--as", "status")
    assert len(hub.checks) == len(hub.repository.statuses.all()) == 1


def test_what_the_fleet_says_of_runners(fake: FakeGithub) -> None:
    section = GithubSection(repository="acme/db", url=fake.url)
    runners = find_runners(Config(github=section), RetryPolicy(60.0), {"GITHUB_TOKEN": "app"})
    assert runners.program().url
    assert runners.register("bench-1", ["self-hosted", "ccx33"])
    assert runners.remove("bench-") == 1


def test_what_the_check_of_settings_reads(fake: FakeGithub) -> None:
    acme = fake.repository("acme/db")
    for path, text in pasted("docs/guide/github.md").items():
        acme.add_workflow(path, text=text)
    acme.start(".github/workflows/nightly.yml", event="schedule", sha=acme.tip)
    acme.settings.rules_require = acme.settings.protection_requires = ("nightshift / sqlite",)
    acme.add_runner("bench", ["self-hosted"], "online", version="2.330.0")
    section = GithubSection(repository="acme/db", url=fake.url)
    settings = read_settings(Client(section, "app"), "acme/db")
    assert settings.unreadable == ()
    assert settings.required_checks == {"nightshift / sqlite"}


def test_what_starts_a_workflow(fake: FakeGithub) -> None:
    acme = fake.repository("acme/db")
    acme.add_workflow("publish.yml")
    environ = {
        "GITHUB_API_URL": fake.url,
        "GITHUB_REPOSITORY": "acme/db",
        "GITHUB_TOKEN": "app",
        "WORKFLOW": "publish.yml",
        "INPUTS": '{"run": "7", "attempt": "1"}',
    }
    script = Path(__file__).parents[3] / ".github/actions/dispatch/dispatch.py"
    subprocess.run([sys.executable, str(script)], env=environ, check=True, capture_output=True)
    (run,) = acme.runs.all()
    assert run.inputs == {"run": "7", "attempt": "1"}


say = test_command.say


@pytest.mark.parametrize(
    "text", ["/nightshift steps=scan", "/nightshift accept it", "/nightshift x"]
)
def test_what_commands_say(hub: Hub, publish: Publish, say: test_command.Say, text: str) -> None:
    publish(test_pulls.SLOWER)
    say(text, code=2 if text.endswith("x") else 0)


flow = test_flows.flow


def test_what_a_measurement_says_from_the_label_to_a_re_run(flow: test_flows.Flow) -> None:
    test_flows.test_a_re_run_shows_no_old_verdict(flow)


def test_what_the_start_of_a_deleted_fork_s_run_says(flow: test_flows.Flow) -> None:
    test_flows.test_a_fork_that_is_gone_while_measuring_keeps_its_check(flow, "fork")


# --- what the fake answers -----------------------------------------------------------


def test_the_fake_answers_what_github_describes() -> None:
    assert operations(github())[1] == NOT_DESCRIBED


def test_an_issue(fake: FakeGithub) -> None:
    issue = of(fake).create_issue("slower", body="by 10 %", labels=["nightshift"])
    issue.create_comment("since yesterday").edit("since Monday")
    for who, change in (
        ("alice", {"state": "closed", "state_reason": "not_planned"}),
        ("app", {"state": "open", "title": "faster", "body": "no", "labels": ["new"]}),
    ):
        of(fake, who).get_issue(issue.number).edit(**change)
    # PyGithub's own way is a list alone, which GitHub takes and does not describe.
    for method, names in (("POST", ["one", "two"]), ("PUT", ["one", "three"])):
        of(fake).requester.requestJsonAndCheck(
            method, f"{issue.url}/labels", input={"labels": names}
        )
    issue.remove_from_labels("one")
    issue.lock("resolved")
    issue.unlock()
    for event in issue.get_events():
        assert event.issue.number == issue.number
    (comment,) = issue.get_comments()
    assert comment.body == "since Monday"
    comment.delete()
    of(fake).get_issue(fake.repository("acme/db").open("eve", "other").number)
    listed = of(fake).get_issues(
        state="all", labels=["three"], sort="updated", direction="asc", since=issue.created_at
    )
    assert [each.number for each in listed] == [issue.number]
    assert of(fake).get_issues_comments().totalCount == 0
    assert of(fake).get_issues_events().totalCount > 0


def test_issues_that_are_elsewhere(fake: FakeGithub) -> None:
    acme = fake.repository("acme/db")
    acme.open("alice", "moved")
    acme.delete(acme.open("alice", "gone").number)
    moved = acme.transfer(1, fake.repository("acme/other"))
    for number, status in ((1, 301), (2, 410), (3, 404)):
        answer = requests.get(
            f"{fake.url}/repos/acme/db/issues/{number}", timeout=60, allow_redirects=False
        )
        assert answer.status_code == status
    assert moved.number == 1


def test_labels(fake: FakeGithub) -> None:
    label = of(fake).create_label("target: postgres", "0075ca", "what it is of")
    label.edit("target: mysql", "0075cb", "what else")
    assert [each.name for each in of(fake).get_labels()] == ["target: mysql"]
    of(fake).get_label("target: mysql").delete()


def test_pull_requests(fake: FakeGithub) -> None:
    acme = fake.repository("acme/db")
    fake.repository("eve/db", fork_of="acme/db")
    acme.open_pull("eve", "faster", sha=SHA, head="eve/db", branch="fast", files=["src/a.c"])
    acme.open_pull("alice", "slower", sha="b" * 40, labels=["nightshift"])
    pull = of(fake).get_pull(1)
    pull.create_issue_comment("slower by 10 %")
    assert [file.filename for file in pull.get_files()] == ["src/a.c"]
    assert [commit.sha for commit in pull.get_commits()] == [SHA]
    assert [each.number for each in of(fake).get_pulls(state="open", head="eve:fast")] == [1]
    assert [each.number for each in of(fake).get_commit("b" * 40).get_pulls()] == [2]
    assert of(fake, "alice").get_collaborator_permission("alice") == "write"


def test_check_runs_and_statuses(fake: FakeGithub) -> None:
    fake.repository("acme/db").push(SHA)
    output: dict[str, Any] = {
        "title": "slower",
        "summary": "by 10 %",
        "annotations": [
            {
                "path": "src/a.c",
                "start_line": 1,
                "end_line": 1,
                "annotation_level": "failure",
                "message": "slower",
                "title": "point-query",
            }
        ],
    }
    check = of(fake).create_check_run("nightshift", SHA, external_id="7", status="in_progress")
    check.edit(status="completed", conclusion="failure", output=output)
    assert [each.message for each in check.get_annotations()] == ["slower"]
    commit = of(fake).get_commit(SHA)
    assert of(fake).get_check_run(check.id).conclusion == "failure"
    assert commit.get_check_runs(check_name="nightshift", filter="all").totalCount == 1
    commit.create_status("failure", f"{fake.url}/x", "slower", "nightshift")
    assert commit.get_combined_status().state == "failure"


def test_workflows_and_their_artifacts(fake: FakeGithub) -> None:
    acme = fake.repository("acme/db")
    fake.repository("eve/db", fork_of="acme/db")
    run = acme.start("measure.yml", event="pull_request", sha=SHA, head="eve/db", branch="fast")
    acme.upload(run.id, "answer", b"PK")
    acme.finish(run.id)
    seen = of(fake)
    (artifact,) = seen.get_workflow_run(run.id).get_artifacts()
    headers = {"Authorization": "token app"}
    download = requests.get(
        artifact.archive_download_url, headers=headers, timeout=60, allow_redirects=False
    )
    assert download.status_code == 302
    assert download.headers["Location"].startswith(fake.storage)
    assert [each.name for each in seen.get_artifacts(name="answer")] == ["answer"]
    assert seen.get_artifact(artifact.id).delete()
    workflow = seen.get_workflow("measure.yml")
    assert workflow.create_dispatch("main", {"number": "1"})
    assert [each.event for each in workflow.get_runs(event="pull_request")] == ["pull_request"]
    assert seen.get_workflow_runs(head_sha=SHA, status="completed").totalCount == 1
    assert [each.path for each in seen.get_workflows()] == [workflow.path]


def test_runners(fake: FakeGithub) -> None:
    url = f"{fake.url}/repos/acme/db/actions/runners"
    headers = {"Authorization": "token app"}
    wanted = {"name": "bench-1", "runner_group_id": 1, "labels": ["ccx33"], "work_folder": "_work"}
    made = requests.post(f"{url}/generate-jitconfig", json=wanted, headers=headers, timeout=60)
    assert made.status_code == 201
    token = requests.post(f"{url}/registration-token", headers=headers, timeout=60)
    assert token.json()["token"]
    (runner,) = of(fake).get_self_hosted_runners()
    assert of(fake).get_self_hosted_runner(runner.id).name == "bench-1"
    assert of(fake).remove_self_hosted_runner(runner)


def test_who_asks_and_how_much_is_left(fake: FakeGithub) -> None:
    for path in ("user", "rate_limit"):
        headers = {"Authorization": "token alice"}
        assert requests.get(f"{fake.url}/{path}", headers=headers, timeout=60).status_code == 200


# --- the check itself can fail -----------------------------------------------------------


@pytest.fixture
def lying(proxy: Prism, port: int) -> Iterator[FakeGithub]:
    """The fake behind Prism, for what does not fit."""
    fake = FakeGithub()
    fake.account("app", "nightshift[bot]")
    fake.repository("acme/db").open("alice", "first")
    fake.repository("acme/db").push(SHA)
    proxy.forget()
    with fake.serving(port):
        fake.base = proxy.url
        yield fake


WRONG: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "issues", {"name": "another word"}),
    ("POST", "issues", {"title": "x", "label": ["another word"]}),
    ("POST", "issues", {"title": "x", "labels": "not a list"}),
    ("PATCH", "issues/1", {"state": "shut"}),
    ("POST", "issues/1/comments", {"text": "another word"}),
    ("POST", "labels", {"color": "aabbcc"}),
    ("POST", "check-runs", {"name": "x", "head_sha": SHA, "status": "done"}),
    ("POST", "check-runs", {"name": "x", "head_sha": SHA, "output": {"title": "no summary"}}),
    ("POST", f"statuses/{SHA}", {"state": "good"}),
    ("POST", "actions/runners/generate-jitconfig", {"name": "x", "labels": ["a"]}),
    ("GET", "no-such-thing", {}),
]


@pytest.mark.parametrize(("method", "path", "body"), WRONG)
def test_a_wrong_request_is_reported(
    lying: FakeGithub, proxy: Prism, method: str, path: str, body: dict[str, Any]
) -> None:
    answer = requests.request(
        method,
        f"{lying.url}/repos/acme/db/{path}",
        json=body or None,
        headers={"Authorization": "token app"},
        timeout=60,
    )
    assert "stoplight" in answer.text
    assert proxy.violations
    # It did not come through.
    assert lying.asked == []


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda issue: issue.pop("locked"),
        lambda issue: issue.update(number="one"),
        lambda issue: issue.update(created_at="yesterday"),
    ],
)
def test_a_wrong_answer_is_reported(
    lying: FakeGithub,
    proxy: Prism,
    spoilt: Callable[[JSON], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tests.fakes.github.shapes import Shapes

    right = Shapes.issue

    def wrong(self: Shapes, *of: Any) -> JSON:
        shown = right(self, *of)
        spoilt(shown)
        return shown

    monkeypatch.setattr(Shapes, "issue", wrong)
    answer = requests.get(f"{lying.url}/repos/acme/db/issues/1", timeout=60)
    assert answer.status_code == 500
    assert proxy.violations


def test_a_misspelt_query_is_reported(description: JSON) -> None:
    right = Asked("GET", "/repos/acme/db/issues", {"state": "all", "per_page": "100"}, {}, None)
    wrong = Asked("GET", "/repos/acme/db/issues", {"status": "all"}, {}, None)
    assert misspelt(description, right) == set()
    assert misspelt(description, wrong) == {"status"}
