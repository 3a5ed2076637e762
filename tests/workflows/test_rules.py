"""What every workflow keeps to: act knows neither permissions nor queues, so they are read here."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.real.workflows.act import ROOT, make_repository, references

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONS = sorted((ROOT / ".github" / "actions").glob("*/action.yml"))

HOSTED = "ubuntu-24.04"
HUB = "fromJSON(inputs.hub"


def read(path: Path) -> dict[str, Any]:
    # "on" is a truth value to YAML 1.1.
    return {("on" if key is True else key): value for key, value in _load(path).items()}


def _load(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text())  # type: ignore[no-any-return]


def jobs() -> Iterator[Any]:
    for path in WORKFLOWS:
        for name, job in read(path)["jobs"].items():
            yield pytest.param(job, id=f"{path.stem}-{name}")


def steps_of(path: Path) -> list[dict[str, Any]]:
    whole = _load(path)
    if "runs" in whole:
        return whole["runs"]["steps"]  # type: ignore[no-any-return]
    return [step for job in whole["jobs"].values() for step in job.get("steps", ())]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_nothing_is_allowed_unless_a_job_needs_it(path: Path) -> None:
    assert read(path)["permissions"] == {}


@pytest.mark.parametrize("job", list(jobs()))
def test_every_job_says_what_it_may_and_how_long(job: dict[str, Any]) -> None:
    assert job["permissions"]
    assert "timeout-minutes" in job


@pytest.mark.parametrize("job", list(jobs()))
def test_a_bench_has_no_secret_and_may_read_only(job: dict[str, Any]) -> None:
    if job["runs-on"] == HOSTED or HUB in job["runs-on"]:
        return
    assert job["permissions"] == {"contents": "read"}
    assert "secrets." not in str(job) and "token" not in str(job).lower()
    used = [each["uses"] for each in job["steps"] if each.get("uses", "").startswith("./")]
    for each in used:
        text = (ROOT / each / "action.yml").read_text()
        assert "token" not in text.lower() and "secrets" not in text


def test_the_jobs_of_benches_are_those_that_measure() -> None:
    found = {
        f"{path.stem}/{name}"
        for path in WORKFLOWS
        for name, job in read(path)["jobs"].items()
        if job["runs-on"] != HOSTED and HUB not in job["runs-on"]
    }
    assert found == {"nightly/measure", "nightly/pursue", "pull-request/measure"}


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=lambda path: path.parent.name)
def test_what_is_of_others_is_pinned_and_no_expression_is_run(path: Path) -> None:
    for uses in references(path.read_text()):
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", uses), uses
    for step in steps_of(path):
        assert "${{" not in step.get("run", ""), step
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=lambda path: path.parent.name)
def test_a_step_ends_with_the_verb_that_failed(path: Path) -> None:
    # Of what is within a word the shell forgets the exit code; of an assignment it does not.
    for step in steps_of(path):
        for line in step.get("run", "").splitlines():
            assert "$(nightshift" not in line or re.match(r"\s*\w+=\$\(nightshift", line), line


def test_nights_and_the_others_wait_for_their_turn() -> None:
    for name in ("nightly", "releases", "reap"):
        group = read(ROOT / ".github" / "workflows" / f"{name}.yml")["concurrency"]
        assert "${{" not in group["group"], "one for the repository"
        assert group["cancel-in-progress"] is False


def test_a_push_takes_the_place_of_what_is_measured_of_its_pull_request() -> None:
    job = read(ROOT / ".github" / "workflows" / "pull-request.yml")["jobs"]["measure"]
    assert "github.event.pull_request.number" in job["concurrency"]["group"]
    assert job["concurrency"]["cancel-in-progress"] is True


def test_a_push_to_a_branch_is_measured_and_no_other_push() -> None:
    """To the default branch nothing is compared, and what is deleted has no commit: GitHub runs the
    workflow for a deleted branch, too, and then on the commit of the default branch."""
    job = read(ROOT / ".github" / "workflows" / "pull-request.yml")["jobs"]["measure"]
    for part in (
        "github.ref_type == 'branch'",
        "!github.event.deleted",
        "github.ref_name != github.event.repository.default_branch",
    ):
        assert part in job["if"]
    assert "github.ref }}" in job["concurrency"]["group"], "one at a time for each branch"


def test_servers_go_whatever_happens() -> None:
    jobs_of_a_night = read(ROOT / ".github" / "workflows" / "nightly.yml")["jobs"]
    teardown = jobs_of_a_night["teardown"]
    assert set(teardown["needs"]) == jobs_of_a_night.keys() - {"teardown"}
    assert "always()" in teardown["if"]


def test_each_measurement_of_a_pull_request_has_a_cache_of_its_own(tmp_path: Path) -> None:
    """What its code leaves in a cache, no other job of the runner finds."""
    repository, temp = tmp_path / "repository", tmp_path / "temp"
    temp.mkdir()
    make_repository(repository, {"a": "b"})
    make_repository(tmp_path / "base", {"a": "b"})
    (tmp_path / "nightshift").write_text('#!/bin/sh\necho "cache=$NIGHTSHIFT_CACHE"\n')
    (tmp_path / "nightshift").chmod(0o755)
    environ = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "GITHUB_WORKSPACE": str(tmp_path),
        "RUNNER_TEMP": str(temp),
        **dict.fromkeys(("BASE", "HEAD"), "HEAD"),
        **dict.fromkeys(("STEPS", "SMALLEST"), ""),
        "TARGET": "sqlite",
        "CONFIG": "nightshift.toml",
        "MODE": "count",
        "BUDGET": "1m",
        "MINUTES": "10",
    }
    script = ROOT / ".github/actions/measure-pull-request/measure"
    caches = set()
    for _ in range(2):
        done = subprocess.run(
            ["bash", str(script)], env=environ, check=True, capture_output=True, text=True
        )
        (cache,) = re.findall(r"^cache=(.+)$", done.stdout, re.MULTILINE)
        assert Path(cache).is_relative_to(temp)
        caches.add(cache)
    assert len(caches) == 2


def test_what_runs_code_of_a_pull_request_is_never_what_may_write() -> None:
    for path in WORKFLOWS:
        if path.stem == "ci":
            continue
        for job in read(path)["jobs"].values():
            measures = "measure-pull-request" in str(job)
            assert not (measures and "write" in str(job["permissions"]))
    assert "pull_request_target" not in "".join(path.read_text() for path in WORKFLOWS)


def test_what_publishes_checks_out_nothing_of_a_pull_request() -> None:
    """Its checkouts are nightshift at its own commit, and the default one of the repository."""
    for name in ("publish", "command", "ended"):
        workflow = ROOT / ".github" / "workflows" / f"pull-request-{name}.yml"
        used = [step for step in steps_of(workflow) if "checkout" in str(step.get("uses"))]
        assert [step["with"]["ref"] for step in used] == [
            "${{ job.workflow_sha || vars.NIGHTSHIFT_REF }}"
        ]
        setups = [step for step in steps_of(workflow) if step.get("uses", "").endswith("/setup")]
        assert all("ref" not in step.get("with", {}) for step in setups)
