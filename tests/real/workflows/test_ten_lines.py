"""The ten lines in a repository of SQLite that has no runner: counted on GitHub's, in time."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.fakes.github.server import GithubServer
from tests.real.workflows.act import Actions, commit
from tests.real.workflows.conftest import DATABASE
from tests.real.workflows.test_pull_requests import (
    FORK,
    measured,
    propose,
    requested,
    ten_lines,
    told,
    upload,
)
from tests.repositories import releases_as_commits
from tools.pasted import blocks

AT_MOST = 15 * 60
"""Seconds from the label to the answer, without the set-up of a hosted runner."""

INSERT = "  int seekResult                 /* Result of prior IndexMoveto() call */\n){\n"
PLANTED = "  { volatile int i; for(i=0; i<15; i++){} }\n"
"""About a hundredth of what a statement that changes an indexed column executes."""


def without_a_runner() -> dict[str, str]:
    """Return the files that the documentation has for repositories without a runner."""
    measures = ".github/workflows/nightshift.yml"
    hosted = next(
        text
        for path, text in blocks("docs/guide/github.md")
        if path == measures and "count" in text
    )
    return {**ten_lines(), measures: hosted}


@pytest.fixture
def sqlite(actions: Actions, cache: Path, tmp_path: Path) -> Path:
    """A repository with a release of SQLite, and these files alone: no configuration."""
    folder = tmp_path / "sqlite"
    releases_as_commits(folder, ["3.46.0"], cache)
    commit(folder, without_a_runner(), "nightshift")
    actions.repositories[DATABASE] = folder
    return folder


def test_one_percent_more_instructions_are_found_in_time_and_nothing_else(
    actions: Actions, sqlite: Path, github: GithubServer
) -> None:
    repository = github.repository(DATABASE)
    github.repository(FORK, fork_of=DATABASE)
    base, head = propose(sqlite, 1, INSERT, INSERT + PLANTED)
    pull = repository.open_pull("mallory", "slower", sha=head, base_sha=base, head=FORK)

    began = time.monotonic()
    run = requested(github, head)
    done = told(actions, github, run, "requested")
    assert done.results() == {"publish": "success"}, done
    assert [check.status for check in repository.checks.all()] == ["queued"]
    done = measured(actions, pull.number, base, head)
    assert done.results() == {"measure": "success"}, done
    upload(actions, github, 1, run.id)
    graphs = [path.name for path in actions.artifacts(1).glob("*/flame-graphs/*.svg")]
    assert any(name.startswith("update-index") for name in graphs), graphs
    repository.finish(run.id)
    done = told(actions, github, run, "completed")
    assert done.results() == {"publish": "success"}, done
    took = time.monotonic() - began

    (check,) = repository.checks.all()
    summary = check.summary or ""
    rows = [
        line
        for line in summary.splitlines()
        if line.startswith("| ") and "instructions per operation" in line
    ]
    worse = [row for row in rows if "**worse**" in row]
    assert len(worse) == 1 and worse[0].startswith("| update-index"), rows
    assert all("| same |" in row for row in rows if row not in worse), rows
    (change,) = re.findall(r"\| \+([0-9.]+) % \|", worse[0])
    assert 0.5 < float(change) < 2.0
    assert check.conclusion == "failure"
    assert took < AT_MOST, took
