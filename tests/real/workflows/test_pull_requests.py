"""The ten lines of README in a repository of SQLite: pull requests are measured and reported."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.github.server import GithubServer
from tests.real.workflows.act import ROOT, TOKEN, Actions, Done, commit
from tests.real.workflows.conftest import DATABASE
from tests.repositories import git, releases_as_commits

BLOCK = re.compile(r"```yaml\n# (\S+)\n(.*?)```", re.DOTALL)

CONFIG = """
[[build]]
name = "rel_o2nofp" # compiled in three seconds instead of twenty
flags = "-O0 -fno-omit-frame-pointer"

[preflight]
wait = "0s"

[disturbance]
watch = false

[[workload]]
name = "short"
config = "wal"
rows = 1000
steps = ["point-query"]
measure = "1s"
warmup = "100ms"

[detect]
metrics = ["cpu_us/o"]
"""

STEP = "SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){\n"
WAIT = "  { volatile int i; for(i=0; i<20000; i++){} }\n"
"""Several times as long as a point query."""

FORK = "mallory/db"


def files_to_add(document: str) -> dict[str, str]:
    """Return the files that a document asks a repository of a DBMS to add, by their paths."""
    return dict(BLOCK.findall((ROOT / document).read_text()))


def ten_lines() -> dict[str, str]:
    return files_to_add("README.md")


def with_comments() -> dict[str, str]:
    """Return the ten lines with what docs/guide/github.md says for comments."""
    files = ten_lines()
    measures = ".github/workflows/nightshift.yml"
    began = files_to_add("docs/guide/github.md")[measures]
    rest = [line for line in files[measures].splitlines() if not line.startswith("on:")]
    return {**files, measures: began + "\n".join(rest) + "\n"}


def test_they_are_ten_at_most() -> None:
    files = ten_lines()
    assert files.keys() == {
        ".github/workflows/nightshift.yml",
        ".github/workflows/nightshift-publish.yml",
    }
    assert sum(len(text.splitlines()) for text in files.values()) <= 10


@pytest.fixture
def sqlite(actions: Actions, cache: Path, tmp_path: Path) -> Path:
    """A repository with a release of SQLite, and the ten lines."""
    folder = tmp_path / "sqlite"
    releases_as_commits(folder, ["3.46.0"], cache)
    commit(folder, {**ten_lines(), "nightshift.toml": CONFIG}, "nightshift")
    actions.repositories[DATABASE] = folder
    return folder


def propose(folder: Path, number: int, before: str, after: str) -> tuple[str, str]:
    """Push a change of the code as the head of a pull request; return base and head."""
    base = git(folder, "rev-parse", "HEAD")
    code = (folder / "sqlite3.c").read_text()
    assert before in code
    head = commit(folder, {"sqlite3.c": code.replace(before, after, 1)}, "a change")
    git(folder, "update-ref", f"refs/pull/{number}/head", head)
    git(folder, "reset", "--hard", base)
    return base, head


def measured(
    actions: Actions, number: int, base: str, head: str, label: str = "nightshift"
) -> Done:
    """Run what a label on a pull request from a fork starts."""
    payload = {
        "action": "labeled",
        "label": {"name": label},
        "pull_request": {
            "number": number,
            "labels": [{"name": label}],
            "base": {"sha": base, "ref": "main"},
            "head": {"sha": head, "ref": "topic", "repo": {"full_name": FORK}},
        },
    }
    return actions.run(DATABASE, "nightshift.yml", "pull_request", payload)


def published(
    actions: Actions,
    github: GithubServer,
    head: str,
    conclusion: str,
    *,
    event: str = "pull_request",
    title: str = "closes #999",
    branch: str = "topic",
    source: str = FORK,
) -> Done:
    """Run what the end of the measuring run starts, which left what act's run 1 left."""
    repository = github.repository(DATABASE)
    run = repository.start(
        ".github/workflows/nightshift.yml",
        event=event,
        sha=head,
        branch=branch,
        head=source,
        status="completed",
        conclusion=conclusion,
    )
    for folder in actions.artifacts(1).glob("*"):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                archive.write(path, path.relative_to(folder).as_posix())
        repository.upload(run.id, folder.name, content.getvalue())
    owner = DATABASE.partition("/")[0]
    payload: dict[str, Any] = {
        "action": "completed",
        "repository": {
            "full_name": DATABASE,
            "owner": {"login": owner},
            "default_branch": "main",
        },
        "workflow_run": {
            "id": run.id,
            "run_attempt": 1,
            "event": event,
            "path": ".github/workflows/nightshift.yml",
            "head_sha": head,
            "head_branch": branch,
            "head_repository": {"full_name": source, "owner": {"login": source.partition("/")[0]}},
            "display_title": title,
            "conclusion": conclusion,
            "html_url": "https://github.test/run",
            "pull_requests": [],
        },
    }
    return actions.run(DATABASE, "nightshift-publish.yml", "workflow_run", payload, run=2)


def test_a_slower_pull_request_of_a_fork_is_reported(
    actions: Actions, sqlite: Path, github: GithubServer
) -> None:
    repository = github.repository(DATABASE)
    github.repository(FORK, fork_of=DATABASE)
    base, head = propose(sqlite, 1, STEP, STEP + WAIT)
    pull = repository.open_pull("mallory", "faster", sha=head, base_sha=base, head=FORK)

    # Another label is none of ours.
    assert measured(actions, pull.number, base, head, label="bug").results() == {}

    done = measured(actions, pull.number, base, head)
    assert done.results() == {"measure": "success"}, done
    environ = json.loads((actions.folder / "machine").read_text())
    assert TOKEN not in environ.values()
    assert not [name for name in environ if "TOKEN" in name or "SECRET" in name]
    done = published(actions, github, head, "success")
    assert done.results() == {"publish": "success"}, done
    (check,) = repository.checks.all()
    assert (check.sha, check.conclusion) == (head, "failure")
    (comment,) = repository.comments_of(pull.number)
    assert "point-query" in comment.body and comment.user == "github-actions[bot]"


def test_what_a_comment_started_and_does_not_compile_is_reported_too(
    actions: Actions, sqlite: Path, github: GithubServer
) -> None:
    repository = github.repository(DATABASE)
    github.repository(FORK, fork_of=DATABASE)
    tip = commit(sqlite, with_comments(), "comments")
    base, head = propose(sqlite, 1, STEP, "::error::broken\n" + STEP)
    pull = repository.open_pull("mallory", "faster", sha=head, base_sha=base, head=FORK)
    inputs = {"number": str(pull.number), "base": base, "head": head}
    done = actions.run(DATABASE, "nightshift.yml", "workflow_dispatch", {"inputs": inputs})
    assert done.results() == {"measure": "success"}, done
    title = f"nightshift #{pull.number} at {head}"
    by_hand = {"event": "workflow_dispatch", "branch": "main", "source": DATABASE, "title": title}
    done = published(actions, github, tip, "success", **by_hand)
    assert done.results() == {"publish": "success"}, done
    (check,) = repository.checks.all()
    assert (check.sha, check.conclusion) == (head, "action_required")


def test_a_run_that_left_nothing_is_reported_too(
    actions: Actions, sqlite: Path, github: GithubServer
) -> None:
    repository = github.repository(DATABASE)
    github.repository(FORK, fork_of=DATABASE)
    base, head = propose(sqlite, 1, STEP, STEP + WAIT)
    repository.open_pull("mallory", "faster", sha=head, base_sha=base, head=FORK)
    assert published(actions, github, head, "failure").results() == {"publish": "success"}
    (check,) = repository.checks.all()
    assert (check.sha, check.conclusion) == (head, "action_required")


def test_a_run_that_waits_for_approval_is_not_reported(
    actions: Actions, sqlite: Path, github: GithubServer
) -> None:
    """GitHub completes a first-time contributor's run as action_required, and fires workflow_run:
    https://docs.github.com/actions/how-tos/manage-workflow-runs/approve-runs-from-forks."""
    repository = github.repository(DATABASE)
    github.repository(FORK, fork_of=DATABASE)
    base, head = propose(sqlite, 1, STEP, STEP + WAIT)
    repository.open_pull("mallory", "faster", sha=head, base_sha=base, head=FORK)
    assert "success" not in published(actions, github, head, "action_required").results().values()
    assert repository.checks.all() == []
