"""`nightshift github check` against a repository whose settings a test chooses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.notify.github.client import Client, GithubClock
from pipeline.use_cases import github_client
from tests.cli.conftest import Ran
from tests.fakes.github import FakeGithub, failing
from tests.fakes.github.repository import Repository
from tools.pasted import blocks, pasted

TOKEN = "ghp_of_the_administrator"  # noqa: S105 - of the fake
MEASURES = ".github/workflows/nightshift.yml"
PUBLISHES = ".github/workflows/nightshift-publish.yml"
COMMENTS = ".github/workflows/nightshift-comments.yml"
NIGHTLY = ".github/workflows/nightly.yml"
LABELS = ("self-hosted", "nightshift-pull-requests")
NOW = datetime(2026, 11, 26, 8, tzinfo=UTC)

Check = Callable[..., Ran]


@pytest.fixture
def fake() -> Iterator[FakeGithub]:
    fake = FakeGithub(lambda: NOW)
    fake.account(TOKEN, "acme")
    with fake.serving():
        yield fake


@pytest.fixture
def acme(fake: FakeGithub) -> Repository:
    """A repository with everything of the README and of the guide, and what they need."""
    acme = fake.repository("acme/db")
    files = {**pasted("README.md"), **pasted("docs/guide/github.md")}
    for path, text in files.items():
        acme.add_workflow(path, text=text)
    nightly = acme.start(NIGHTLY, event="schedule", sha=acme.tip)
    acme.finish(nightly.id)
    acme.add_label("Nightshift")
    acme.settings.approval_policy = "all_external_contributors"
    acme.settings.rules_require = ("nightshift / sqlite on small",)
    acme.add_runner("bench", LABELS, "online", ephemeral=True, version="2.330.0")
    acme.add_runner("hub", ("self-hosted", "hub"), "online", version="2.329.0")
    return acme


@pytest.fixture
def check(
    fake: FakeGithub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Check:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setenv("GITHUB_API_URL", fake.url)
    clock = GithubClock(monotonic=lambda: 0.0, sleep=lambda _: None, now=lambda: NOW)
    monkeypatch.setattr(github_client, "Client", partial(Client, clock=clock))

    def run(*words: str, code: int = 0) -> Ran:
        asked = words or ("acme/db",)
        monkeypatch.setattr(sys, "argv", ["nightshift", "github", "check", *asked])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        streams = capsys.readouterr()
        assert ended.value.code == code, streams.out + streams.err
        assert TOKEN not in streams.out + streams.err
        return Ran(code, streams.out, streams.err)

    return run


def test_a_repository_as_documented_lacks_nothing(
    fake: FakeGithub, acme: Repository, check: Check
) -> None:
    ran = check()
    assert ran.out.splitlines() == [
        "note: required checks: 'nightshift / sqlite on small' is required, but a pull request "
        "without the label never gets it -> label every pull request, or do not require it",
        "0 settings missing, 9 checks passed",
    ]
    assert {asked.method for asked in fake.asked} == {"GET"}
    found = check("acme/db", "--format", "json").json
    assert found["complete"] is True
    assert {each["state"] for each in found["checks"]} == {"good", "note"}


Change = Callable[[Repository], object]


def no_workflows(acme: Repository) -> None:
    for workflow in acme.workflows.all():
        acme.set_workflow(workflow.path, text="on: push\njobs: {}")


def without(path: str) -> Change:
    return lambda acme: acme.set_workflow(path, text="on: push\njobs: {}")


def text(path: str, before: str, after: str) -> Change:
    def change(acme: Repository) -> None:
        found = acme.find_workflow(path)
        assert found is not None and before in found.text
        acme.set_workflow(path, text=found.text.replace(before, after))

    return change


def setting(**changes: Any) -> Change:
    def change(acme: Repository) -> None:
        for name, value in changes.items():
            setattr(acme.settings, name, value)

    return change


def runner(index: int, **changes: Any) -> Change:
    def change(acme: Repository) -> None:
        found = acme.runners.all()[index]
        acme.remove_runner(found.id)
        kept: dict[str, Any] = {
            "status": "online",
            "ephemeral": True,
            "version": "2.330.0",
        } | changes
        acme.add_runner(found.name, found.labels, **kept)

    return change


def state(path: str, state: str) -> Change:
    return lambda acme: acme.set_workflow(path, state=state)


def quiet(acme: Repository) -> None:
    acme.pushed = NOW - timedelta(days=57)


def last_night(days: int) -> Change:
    def change(acme: Repository) -> None:
        (run,) = [each for each in acme.runs.all() if each.event == "schedule"]
        acme.age_run(run.id, timedelta(days=days))

    return change


@pytest.mark.parametrize(
    ("change", "said", "remedy"),
    [
        (no_workflows, "workflows: no workflow on the default branch calls", "add the workflows"),
        (without(PUBLISHES), "workflows: no workflow publishes what nightshift.yml", "add one"),
        (
            text(MEASURES, "name: nightshift\n", "name: performance\n"),
            "workflows: no workflow publishes what nightshift.yml",
            "with the trigger workflow_run for 'performance'",
        ),
        (
            text(MEASURES, "pull-request-ended", "pull-request-publish"),
            "workflows: a measurement that a comment starts is never reported",
            "add the job that calls pull-request-ended.yml to nightshift.yml",
        ),
        (
            text(PUBLISHES, "workflow_dispatch:", "workflow_call:"),
            "workflows: a measurement that a comment starts is never reported",
            "workflow_dispatch to the publisher",
        ),
        (
            text(MEASURES, "workflow_dispatch:", "workflow_call:"),
            "workflows: comments cannot start nightshift.yml",
            "add the trigger workflow_dispatch to it",
        ),
        (
            state(NIGHTLY, "disabled_inactivity"),
            "workflows: nightly.yml is disabled: GitHub turned it off after 60 days",
            "enable it: https://github.test/acme/db/actions/workflows/nightly.yml",
        ),
        (
            state(NIGHTLY, "disabled_fork"),
            "workflows: nightly.yml is disabled: GitHub turns schedules off in forks",
            "enable it",
        ),
        (
            last_night(61),
            "schedules: the last scheduled run of nightly.yml was 61 days ago",
            "disable and enable it",
        ),
        (quiet, "schedules: nothing was pushed for 57 days", "push a commit"),
        (
            lambda acme: acme.delete_label("nightshift"),
            "label: there is no label 'nightshift', which starts a measurement",
            "create it: https://github.test/acme/db/labels",
        ),
        (
            text(MEASURES, "{target: sqlite}", "{target: sqlite, label: measure me}"),
            "label: there is no label 'measure me'",
            "create it",
        ),
        (
            setting(approval_policy="first_time_contributors"),
            "approval policy: first time contributors: a returning contributor's workflow runs",
            "require approval for all external contributors: https://github.test/acme/db/settings",
        ),
        (
            setting(rules_require=("measure / measure",)),
            "required checks: 'measure / measure' is the job that measures",
            "require the check run of nightshift instead",
        ),
        (
            setting(rules_require=(), protection_requires=("measure / measure",)),
            "required checks: 'measure / measure' is the job that measures",
            "require the check run of nightshift instead",
        ),
        (setting(actions_enabled=False), "Actions: they are disabled", "enable them: https://"),
        (setting(allowed_actions="local_only"), "Actions: only actions of this owner", "allow"),
        (setting(archived=True), "repository: it is archived", "unarchive it"),
        (
            setting(default_permissions="write"),
            "workflow permissions: jobs without a list of permissions",
            "choose Read repository contents",
        ),
        (
            lambda acme: acme.remove_runner(acme.runners.all()[0].id),
            "runner: no runner has the labels self-hosted, nightshift-pull-requests, so jobs wait",
            "register one: https://github.test/acme/db/settings/actions/runners/new",
        ),
        (
            lambda acme: acme.remove_runner(acme.runners.all()[1].id),
            "runner: no runner has the labels self-hosted, hub",
            "register one",
        ),
        (
            runner(0, status="offline"),
            "runner: bench (self-hosted, nightshift-pull-requests) is offline",
            "start its service",
        ),
        (
            runner(1, version="2.328.9"),
            "runner: hub has version 2.328.9, but GitHub refuses versions before 2.329.0",
            "install the newest runner",
        ),
    ],
)
def test_what_is_missing_is_a_line_with_what_to_do(
    acme: Repository,
    check: Check,
    change: Change,
    said: str,
    remedy: str,
) -> None:
    change(acme)
    lines = [line for line in check(code=1).out.splitlines() if line.startswith("missing: ")]
    (line,) = lines
    assert line.startswith(f"missing: {said}")
    assert remedy in line.partition(" -> ")[2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (setting(rules_require=()), "required checks: no check of nightshift is required, so"),
        (setting(allowed_actions="selected"), "Actions: only selected actions are allowed"),
        (runner(0, ephemeral=False), "runner: bench runs code of pull requests and is not"),
        (runner(0, version=None), ""),
    ],
)
def test_what_is_worth_knowing_is_not_missing(
    acme: Repository, check: Check, change: Change, said: str
) -> None:
    change(acme)
    assert said in check().out


def test_hosted_runners_need_no_runner_and_no_approval_of_everybody(
    acme: Repository, check: Check
) -> None:
    for each in acme.runners.all():
        acme.remove_runner(each.id)
    acme.settings.approval_policy = "first_time_contributors"
    without(NIGHTLY)(acme)
    text(MEASURES, "{target: sqlite}", "{target: sqlite, runner: '\"ubuntu-24.04\"'}")(acme)
    assert "0 settings missing" in check().out


def test_a_mirror_that_measures_pushed_branches_needs_no_label(
    acme: Repository, check: Check
) -> None:
    branches = next(text for _, text in blocks("docs/guide/github.md") if "push:" in text)
    acme.set_workflow(MEASURES, text=branches)
    without(COMMENTS)(acme)
    acme.delete_label("nightshift")
    acme.settings.rules_require = ()
    assert check().out.splitlines() == ["0 settings missing, 8 checks passed"]


def test_a_private_repository_has_no_approval_policy(acme: Repository, check: Check) -> None:
    acme.access.private = True
    acme.pushed = NOW - timedelta(days=300)
    acme.settings.approval_policy = "first_time_contributors"
    assert "0 settings missing" in check().out


def test_what_a_token_may_not_read_is_named_with_the_permission(
    fake: FakeGithub, acme: Repository, check: Check
) -> None:
    fake.account(TOKEN, "nightshift[bot]", {"actions": "read", "contents": "read"})
    assert check(code=1).out.splitlines()[0] == (
        "missing: token: it may not read Actions permissions, workflow permissions, the approval "
        "policy, runners, so these are not checked -> use a token of an administrator with "
        "Administration: read"
    )
    acme.access.private = True
    assert "it may not read labels" in check(code=1).out


def test_files_that_are_no_workflows_are_none(acme: Repository, check: Check) -> None:
    acme.add_workflow("broken.yml", "x", text="on: [")
    acme.add_workflow("list.yml", "y", text="- a")
    acme.add_workflow("jobs.yml", "z", text="on: push\njobs: [1]")
    acme.add_workflow("dynamic/dependabot/dependabot-updates", "Dependabot")
    assert "0 settings missing" in check().out


def test_mistakes_are_one_line_and_exit_with_2(
    fake: FakeGithub, acme: Repository, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert acme.full_name
    assert "acme/other does not exist, or the token may not" in check("acme/other", code=2).err
    assert "'acme' is not of the form OWNER/NAME" in check("acme", code=2).err
    fake.fault = lambda _: failing(502)
    assert "the repository acme/db could not be checked: GitHub returned 502" in check(code=2).err
    fake.fault = lambda _: None
    monkeypatch.setenv("GITHUB_TOKEN", "unknown")
    assert "GitHub rejects the token in GITHUB_TOKEN" in check(code=2).err
    monkeypatch.delenv("GITHUB_TOKEN")
    assert "GITHUB_TOKEN is not set; set it to a token with read access" in check(code=2).err
