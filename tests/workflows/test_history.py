"""A measurement of a pull request fetches two commits, and of the history the commits alone.

The steps are those of the action, in its order, with its inputs. git is real; the checkout is the
stand-in, which fetches what actions/checkout fetches and leaves no credentials.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from pipeline.experiments.source_trees import revision_of_tree
from pipeline.sources import source_for
from tests.real.workflows.act import ROOT, STAND_INS, commit, git, make_repository

ACTION = ROOT / ".github/actions/measure-pull-request"
NAME = "acme/db"


class Runner(NamedTuple):
    """The workspace of a job, and the repository that it measures."""

    workspace: Path
    repository: Path

    def run(self, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a program as a step of the job does."""
        return subprocess.run(
            command,
            cwd=self.workspace,
            check=False,
            capture_output=True,
            text=True,
            env={
                "PATH": f"{self.workspace}/bin:{os.environ['PATH']}",
                "HOME": str(self.workspace),
                "GITHUB_WORKSPACE": str(self.workspace),
                "GITHUB_OUTPUT": str(self.workspace / "output"),
                "RUNNER_TEMP": str(self.workspace / "temp"),
                "STAND_INS_REPOSITORIES": json.dumps({NAME: str(self.repository)}),
                **environ,
            },
        )

    def check_out(self, given: dict[str, Any]) -> None:
        """Run a step that uses actions/checkout."""
        done = self.run(
            sys.executable,
            str(STAND_INS / "checkout/checkout.py"),
            REPOSITORY=NAME,
            REF=given["ref"],
            TO=given["path"],
            DEPTH=str(given.get("fetch-depth", 1)),
            FILTER=given.get("filter", ""),
            SPARSE=given.get("sparse-checkout", ""),
            CONE=str(given.get("sparse-checkout-cone-mode", "true")).lower(),
            PERSIST=str(given["persist-credentials"]).lower(),
        )
        assert done.returncode == 0, done.stderr

    def measure(self, ref: str, base: str, head: str) -> subprocess.CompletedProcess[str]:
        """Run the steps of the action, up to the measurement or to the first that fails."""
        self.check_out({"ref": head, "path": "repository", "persist-credentials": False})
        inputs = {"${{ inputs.ref }}": ref}
        steps = yaml.safe_load((ACTION / "action.yml").read_text())["runs"]["steps"]
        history, _, tree, _ = steps[:4]
        self.check_out({**history["with"], "ref": inputs[history["with"]["ref"]]})
        found = self.run("bash", str(ACTION / "merge-base"), BASE=base, HEAD=head)
        if found.returncode:
            return found
        given = (self.workspace / "output").read_text().strip().removeprefix("commit=")
        assert tree["with"]["ref"] == "${{ steps.base.outputs.commit }}"
        self.check_out({**tree["with"], "ref": given})
        words = {"TARGET": "sqlite", "CONFIG": "nightshift.toml", "MODE": "count"}
        words |= {"STEPS": "", "SMALLEST": "", "BUDGET": "1m", "MINUTES": "10"}
        return self.run("bash", str(ACTION / "measure"), BASE=given, HEAD=head, **words)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A repository of six commits with large files, and a runner with a nightshift that says what
    it was asked."""
    workspace = tmp_path / "workspace"
    (workspace / "bin").mkdir(parents=True)
    (workspace / "temp").mkdir()
    (workspace / "bin/nightshift").write_text('#!/bin/sh\nprintf "%s\\n" "$@"; cat *.toml\n')
    (workspace / "bin/nightshift").chmod(0o755)
    repository = make_repository(tmp_path / "db", {"nightshift.toml": "# 0\n"})
    for number in range(1, 6):
        commit(
            repository, {"large.c": f"{number}" * 50_000, "nightshift.toml": f"# {number}\n"}, "c"
        )
    return Runner(workspace, repository)


def proposed(runner: Runner, behind: int, place: str) -> tuple[str, str, str]:
    """Commit a change that left main some commits ago; return base, the tip of main and head."""
    repository = runner.repository
    tip, base = (git(repository, "rev-parse", each) for each in ("main", f"main~{behind}"))
    git(repository, "checkout", "--quiet", "--detach", base)
    commit(repository, {"nightshift.toml": "# hostile"}, "first")
    head = commit(repository, {"changed.c": "int x;"}, "second")
    git(repository, "update-ref", place, head)
    git(repository, "checkout", "--quiet", "main")
    return base, tip, head


def objects(folder: Path) -> list[str]:
    """Return the types of the objects that a clone has, without asking anybody for more."""
    listed = git(folder, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)")
    return listed.split()


@pytest.mark.parametrize(
    ("place", "by_name"),
    [("refs/pull/12/head", False), ("refs/heads/cf/4711", True), ("refs/heads/queue/1", False)],
)
def test_base_and_head_are_fetched_and_of_the_history_no_file(
    runner: Runner, place: str, by_name: bool
) -> None:
    base, tip, head = proposed(runner, 3, place)
    done = runner.measure(place, "main" if by_name else tip, head)
    assert done.returncode == 0, done.stderr
    clone = runner.workspace / "repository"
    asked = done.stdout.splitlines()
    assert f"sqlite:{clone}#{base}" in asked and f"sqlite:{clone}#{head}" in asked
    assert "# 2" in asked, "the configuration is that of the base"
    assert objects(clone).count("commit") == 2
    history = objects(runner.workspace / "history")
    assert history.count("commit") == 8
    assert "blob" not in history
    assert [each.name for each in (runner.workspace / "history").iterdir()] == [".git"]


def test_both_commits_can_be_built(runner: Runner, tmp_path: Path) -> None:
    """nightshift copies the clone, and takes the files of each commit from the copy."""
    base, tip, head = proposed(runner, 2, "refs/pull/12/head")
    runner.measure("refs/pull/12/head", tip, head)
    clone = runner.workspace / "repository"
    for each in (base, head):
        revision = revision_of_tree("sqlite", clone, each, tmp_path / "c", tmp_path / "results")
        assert revision.supply is not None
        fetched = source_for(revision.supply, tmp_path / "c").fetch(each, tmp_path / "downloads")
        assert fetched.locator == f"{clone}@{each}"
        assert fetched.path.stat().st_size > 50_000


def test_a_head_on_the_base_is_compared_with_itself(runner: Runner) -> None:
    """A branch that was just made has no commit of its own."""
    tip = git(runner.repository, "rev-parse", "main")
    git(runner.repository, "update-ref", "refs/heads/cf/1", tip)
    done = runner.measure("refs/heads/cf/1", "main", tip)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"#{tip}\n") == 2


def test_histories_without_a_common_commit_are_one_line(runner: Runner) -> None:
    repository = runner.repository
    git(repository, "checkout", "--quiet", "--orphan", "other")
    head = commit(repository, {"a.c": "int a;"}, "another beginning")
    done = runner.measure("refs/heads/other", "main", head)
    assert done.returncode == 1
    assert done.stdout.startswith(f"::error::{head} and refs/remotes/origin/main have no commit")
    assert len(done.stdout.splitlines()) == 1
