"""The weekly plan of the hub: one issue while something differs, closed when nothing does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.notify.github.client import Client, GithubClock
from pipeline.use_cases import github_client
from tests.cli.conftest import Ran
from tests.fakes.github import FakeGithub, failing
from tests.fakes.github.repository import Repository

ROOT = Path(__file__).parents[2]
TOKEN = "ghs_of_the_workflow"  # noqa: S105 - of the fake
NOW = datetime(2026, 11, 23, 6, tzinfo=UTC)

Drift = Callable[..., Ran]


def plan(**actions: str) -> str:
    """Return a plan as Terraform prints it, with the actions of resources by name."""
    changes = [
        {
            "address": f"module.hub.hcloud_server.{name}",
            "change": {"actions": each.split(), "before": {"ip": "192.0.2.1"}},
        }
        for name, each in actions.items()
    ]
    return json.dumps({"format_version": "1.2", "planned_values": {}, "resource_changes": changes})


@pytest.fixture
def fake() -> Iterator[FakeGithub]:
    fake = FakeGithub(lambda: NOW)
    fake.account(TOKEN, "nightshift[bot]", {"issues": "write"})
    with fake.serving():
        yield fake


@pytest.fixture
def acme(fake: FakeGithub) -> Repository:
    return fake.repository("acme/db")


@pytest.fixture
def drift(
    fake: FakeGithub,
    acme: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Drift:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setenv("GITHUB_API_URL", fake.url)
    clock = GithubClock(monotonic=lambda: 0.0, sleep=lambda _: None, now=lambda: NOW)
    monkeypatch.setattr(github_client, "Client", partial(Client, clock=clock))

    def run(text: str, code: int) -> Ran:
        (tmp_path / "plan.json").write_text(text)
        words = ["fleet", "drift", "plan.json", "--repository", "acme/db"]
        monkeypatch.setattr(sys, "argv", ["nightshift", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        streams = capsys.readouterr()
        assert ended.value.code == code, streams.out + streams.err
        return Ran(code, streams.out, streams.err)

    return run


def issues(acme: Repository) -> list[tuple[str, str]]:
    return [(issue.state, issue.body or "") for issue in acme.issues.all()]


def test_a_difference_opens_one_issue_that_shows_no_values(acme: Repository, drift: Drift) -> None:
    ran = drift(plan(hub="delete create", volume="no-op", image="read"), 1)
    assert ran.out.splitlines()[0] == "module.hub.hcloud_server.hub: delete, create"
    drift(plan(hub="update"), 1)
    ((state, body),) = issues(acme)
    assert state == "open"
    assert "| `module.hub.hcloud_server.hub` | update |" in body
    assert "192.0.2.1" not in body


def test_a_plan_without_a_difference_closes_it(acme: Repository, drift: Drift) -> None:
    assert drift(plan(hub="no-op"), 0).out == "0 resources differ from the description\n"
    assert issues(acme) == []
    drift(plan(hub="update"), 1)
    drift(plan(), 0)
    assert [state for state, _ in issues(acme)] == ["closed"]
    drift(plan(hub="create"), 1)
    assert [state for state, _ in issues(acme)] == ["closed", "open"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"resource_changes": [{"address": "a"}]}'])
def test_what_is_no_plan_is_refused(acme: Repository, drift: Drift, text: str) -> None:
    assert "is no plan of Terraform" in drift(text, 2).err
    assert issues(acme) == []


def test_github_that_fails_is_one_line(fake: FakeGithub, acme: Repository, drift: Drift) -> None:
    fake.faults = [failing(502)] * 20
    assert drift(plan(hub="update"), 2).err.count("\n") == 1


def test_the_script_plans_without_a_lock_and_reports(tmp_path: Path) -> None:
    """With stand-ins for Terraform and nightshift, which print what they are asked."""
    for name, body in {
        "terraform": 'echo "terraform $*" >> asked; [ "$2" != show ] || echo "{}"',
        "nightshift": 'echo "nightshift $*" >> asked; exit "$STATUS"',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    for status, expected in (("0", 0), ("1", 0), ("2", 2)):
        done = subprocess.run(
            ["bash", ROOT / ".github/actions/servers/servers", "drift", "small-team"],
            cwd=tmp_path,
            env={
                "PATH": f"{tmp_path}:/usr/bin:/bin",
                "RUNNER_TEMP": str(tmp_path),
                "NIGHTSHIFT_STATE": "/etc/nights.tfbackend",
                "HUB_VARIABLES": "hub.tfvars",
                "CONFIG": "nightshift.toml",
                "GITHUB_REPOSITORY": "acme/db",
                "STATUS": status,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == expected, done.stderr
    asked = (tmp_path / "asked").read_text().splitlines()[:4]
    assert "-backend-config=key=nightshift/pipeline.tfstate" in asked[0]
    assert (
        " plan " in asked[1]
        and "-var-file=sizes/small-team.tfvars -var-file=hub.tfvars" in asked[1]
    )
    assert "-lock=false" in asked[1] and "apply" not in asked[1]
    assert asked[3].startswith("nightshift fleet drift ") and "--repository acme/db" in asked[3]
    assert not list(tmp_path.glob("drift.*"))
