"""The ten lines of README in a repository of SQLite: pull requests are measured and reported."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.github.server import GithubServer
from tests.fakes.github.things import Run
from tests.real.workflows.act import TOKEN, Actions, Done, commit
from tests.real.workflows.conftest import DATABASE
from tests.repositories import git, releases_as_commits
from tools.pasted import blocks, pasted

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
MEASURES = ".github/workflows/nightshift.yml"


def ten_lines() -> dict[str, str]:
    return pasted("README.md")


def with_comments() -> dict[str, str]:
    """Return the ten lines with what docs/guide/github.md says for comments."""
    return {**ten_lines(), **pasted("docs/guide/github.md")}


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
) -> Done:
    """Run what the end of the measuring run of a fork starts, which left what act's run 1 left."""
    run = requested(github, head)
    upload(actions, github, 1, run.id)
    github.repository(DATABASE).finish(run.id, conclusion)
    return told(actions, github, run, "completed")


def requested(github: GithubServer, head: str) -> Run:
    """Let GitHub have the ten lines, and a run of the measuring workflow that a fork started."""
    repository = github.repository(DATABASE)
    for path, text in ten_lines().items():
        if repository.find_workflow(path) is None:
            repository.add_workflow(path, text=text)
    return repository.start(
        MEASURES, event="pull_request", sha=head, branch="topic", head=FORK, actor="mallory"
    )


def told(actions: Actions, github: GithubServer, run: Run, activity: str) -> Done:
    """Run what an activity of a run starts."""
    (publishing,) = [
        each
        for each in github.repository(DATABASE).runs.all()
        if (each.after, each.activity) == (run.id, activity)
    ]
    about = f"/repos/{DATABASE}"
    payload = {
        "action": activity,
        "repository": shown(github, about),
        "workflow_run": shown(github, f"{about}/actions/runs/{run.id}"),
    }
    place = "nightshift-publish.yml"
    return actions.run(DATABASE, place, publishing.event, payload, run=publishing.id)


def upload(actions: Actions, github: GithubServer, run: int, to: int) -> None:
    """Keep as artifacts of a run of GitHub what a run of act left."""
    for folder in actions.artifacts(run).glob("*"):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                archive.write(path, path.relative_to(folder).as_posix())
        github.repository(DATABASE).upload(to, folder.name, content.getvalue())


def shown(github: GithubServer, path: str) -> Any:
    """Return what the API shows at a path."""
    sent, _ = github.handle("GET", path, {"user-agent": "x"})
    assert sent is not None
    return json.loads(sent.body)


def said(actions: Actions, github: GithubServer, number: int, text: str, who: str) -> Done:
    """Comment on a pull request, and run what that starts."""
    about = f"/repos/{DATABASE}"
    comment = github.repository(DATABASE).comment(who, number, text)
    payload = {
        "action": "created",
        "issue": shown(github, f"{about}/issues/{number}"),
        "comment": shown(github, f"{about}/issues/comments/{comment.id}"),
        "repository": shown(github, about),
    }
    return actions.run(DATABASE, "nightshift-comments.yml", "issue_comment", payload, run=9)


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
    assert (check.sha, check.conclusion) == (head, "failure"), check.title
    (comment,) = repository.comments_of(pull.number)
    assert "point-query" in comment.body and comment.user == "github-actions[bot]"


def test_a_comment_measures_and_the_answer_is_reported(
    actions: Actions, sqlite: Path, github: GithubServer
) -> None:
    """The change does not compile, so that this takes no longer than it must."""
    repository = github.repository(DATABASE)
    repository.access.roles |= {"alice": "write", "bob": "triage"}
    github.repository(FORK, fork_of=DATABASE)
    commit(sqlite, with_comments(), "comments")
    for path, text in with_comments().items():
        repository.add_workflow(path, text=text)
    base, head = propose(sqlite, 1, STEP, "::error::broken\n" + STEP)
    pull = repository.open_pull("mallory", "faster", sha=head, base_sha=base, head=FORK)

    for text, who in (("/nightshift", "bob"), ("/nightshiftly", "alice"), ("thanks", "alice")):
        done = said(actions, github, pull.number, text, who)
        assert set(done.results().values()) <= {"success", "skipped"}, done
        assert repository.runs.all() == []

    done = said(actions, github, pull.number, "/nightshift steps=point-query", "alice")
    assert done.results() == {"obey": "success"}, done
    (measuring,) = repository.runs.all()
    assert measuring.inputs["steps"] == "point-query"
    payload = {"inputs": dict(measuring.inputs)}
    done = actions.run(
        DATABASE, "nightshift.yml", measuring.event, payload, run=measuring.id, seconds=1800
    )
    assert done.results() == {"measure": "success", "start-publisher": "success"}, done
    upload(actions, github, measuring.id, measuring.id)
    repository.rename_run(measuring.id, f"nightshift #{pull.number} at {head}")
    repository.finish(measuring.id)

    assert [check.status for check in repository.checks.all()] == ["queued"]
    (publishing,) = [each for each in repository.runs.all() if each.id != measuring.id]
    payload = {"inputs": dict(publishing.inputs), "repository": shown(github, f"/repos/{DATABASE}")}
    done = actions.run(
        DATABASE, "nightshift-publish.yml", publishing.event, payload, run=publishing.id
    )
    assert done.results() == {"publish": "success"}, done
    (check,) = repository.checks.all()
    assert (check.sha, check.conclusion) == (head, "action_required")


def pushed(actions: Actions, branch: str, head: str, *, deleted: bool = False) -> Done:
    """Run what a push to a branch starts."""
    payload = {
        "ref": f"refs/heads/{branch}",
        "after": head,
        "deleted": deleted,
        "repository": {"default_branch": "main", "full_name": DATABASE},
    }
    return actions.run(DATABASE, "nightshift.yml", "push", payload)


def test_a_slower_branch_of_a_mirror_is_reported_without_a_comment(
    actions: Actions, sqlite: Path, github: GithubServer
) -> None:
    repository = github.repository(DATABASE)
    branches = next(text for _, text in blocks("docs/guide/github.md") if "push:" in text)
    files = {**ten_lines(), MEASURES: branches.replace("postgres", "sqlite, mode: count")}
    commit(sqlite, files, "branches")
    for path, text in files.items():
        repository.add_workflow(path, text=text)
    base, head = propose(sqlite, 1, STEP, STEP + WAIT)
    git(sqlite, "update-ref", "refs/heads/cf/4711", head)
    git(sqlite, "update-ref", "-d", "refs/pull/1/head")
    tip = commit(sqlite, {"README": "main went on"}, "later")

    assert pushed(actions, "main", tip).results() == {}
    assert pushed(actions, "cf/4711", "0" * 40, deleted=True).results() == {}

    repository.push(head)
    run = repository.start(MEASURES, event="push", sha=head, branch="cf/4711", actor="cfbot")
    done = pushed(actions, "cf/4711", head)
    assert done.results() == {"measure": "success"}, done
    upload(actions, github, 1, run.id)
    repository.finish(run.id, "success")
    done = told(actions, github, run, "completed")
    assert done.results() == {"publish": "success"}, done
    (check,) = repository.checks.all()
    assert (check.sha, check.conclusion) == (head, "failure")
    assert f"sqlite:.#{base}" in (check.summary or ""), "measured against its merge base"
    assert repository.all_comments() == []


def test_a_run_that_left_nothing_is_reported_too(
    actions: Actions, sqlite: Path, github: GithubServer
) -> None:
    repository = github.repository(DATABASE)
    github.repository(FORK, fork_of=DATABASE)
    base, head = propose(sqlite, 1, STEP, STEP + WAIT)
    repository.open_pull("mallory", "faster", sha=head, base_sha=base, head=FORK)
    assert published(actions, github, head, "failure").results() == {"publish": "success"}
    (check,) = repository.checks.all()
    assert (check.sha, check.conclusion) == (head, "neutral")


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
