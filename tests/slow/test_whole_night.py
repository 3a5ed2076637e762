"""A night over two machine classes, from a slow commit to its issue: everything real but clouds."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from tests.fakes.github.server import GithubServer
from tests.fakes.hetzner import FakeHetzner
from tests.nights import leftovers
from tests.prometheus import Prometheus
from tests.real.workflows.act import Actions, commit
from tests.real.workflows.conftest import DATABASE, caller
from tests.real.workflows.test_night import SECRETS
from tests.repositories import FAST_BUILD, edit, git, releases_as_commits
from tests.repositories import commit as commit_all

COMMITS, SLOW = 12, 6
"""Commits of the branch, and which of them (from 0) makes every statement slower."""

STEP = "SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){\n"
WAIT = "  { volatile int i; for(i=0; i<20000; i++){} }\n"
"""Several times as long as a point query."""

CONFIG = """
[preflight]
wait = "0s"

[night]
repetitions = 2

[notify]
sinks = ["directory", "github"]

[github]
repository = "example/db"
url = "{github}"

[publish]
url = "{prometheus}"

[fleet]
per_night = "1 EUR"
per_month = "10 EUR"

[[class]]
name = "made"
cores = {cores}
memory_gb = {memory}
server_type = "ccx13"
lines = ["trunk"]

[[class]]
name = "reserved"
cores = {cores}
memory_gb = {memory}
runner = ["self-hosted", "another"]
lines = ["minors"]

[[line]]
name = "trunk"
target = "sqlite"
source = "git"
repository = "{repository}"
build = "fast_to_compile"

[[line]]
name = "minors"
target = "postgres"
revisions = ["17.5"]

[disturbance]
watch = false

[[workload]]
name = "on-sqlite"
lines = ["trunk"]
config = "wal"
rows = 1000
steps = ["point-query"]
measure = "1s"
warmup = "100ms"

[[workload]]
name = "on-postgres"
lines = ["minors"]
rows = 1000
steps = ["point-query"]
measure = "1s"
warmup = "100ms"

[detect]
min_effect = "10%"

[confirm]
smallest_effect = "10%"
"""


def grow(folder: Path, cache: Path) -> str:
    """Make the branch; return its slow commit."""
    releases_as_commits(folder, ["3.46.0"], cache)
    code = folder / "sqlite3.c"
    slow = ""
    for number in range(1, COMMITS):
        if number == SLOW:
            code.write_text(code.read_text().replace(STEP, STEP + WAIT))
            commit_all(folder, "Step with care")
            slow = git(folder, "rev-parse", "HEAD")
        else:
            edit(code, "", f"\nint sqlite3_of_{number}(void){{ return {number}; }}\n")
            commit_all(folder, f"Small change {number}")
    return slow


def test_from_a_slow_commit_to_its_issue(
    actions: Actions,
    github: GithubServer,
    hetzner: FakeHetzner,
    prometheus: Prometheus,
    machine: Machine,
    own_cache: Path,
    cache: Path,
    tmp_path: Path,
) -> None:
    slow = grow(tmp_path / "trunk", cache)
    files = {
        "nightshift.toml": FAST_BUILD
        + CONFIG.format(
            github=github.url,
            prometheus=prometheus.write_url,
            repository=tmp_path / "trunk",
            cores=machine.cores,
            memory=memory_gb(machine.memory_bytes),
        ),
        ".github/workflows/nightly.yml": caller("nightly.yml", "workflow_dispatch", SECRETS),
    }
    commit(actions.repositories[DATABASE], files, "nights")

    done = actions.run(DATABASE, "nightly.yml", "workflow_dispatch", seconds=900)
    assert done.code == 0, done
    assert set(done.results()) == {
        *("plan", "provision", "measure", "ingest", "pursue", "conclude", "teardown")
    }
    uploaded = {path.name for path in actions.artifacts(1).iterdir()}
    assert {"measured-made-001-attempt-1", "measured-reserved-001-attempt-1"} <= uploaded
    assert "pursued-made-attempt-1" in uploaded

    (issue,) = github.repository(DATABASE).issues.all()
    assert issue.state == "open" and issue.user == "github-actions[bot]"
    assert slow[:10] in (issue.body or "")
    assert not hetzner.project.things["servers"] and len(hetzner.project.past) == 1
    assert prometheus.count() > 0
    results = actions.home / DATABASE / "results"
    assert len(list((results / "bundles").glob("*.tar.zst"))) == 2 * (COMMITS + 1)
    (line,) = (results / "nights.jsonl").read_text().splitlines()
    assert json.loads(line)["regressions"]

    # Another night finds nothing to measure, and reports nothing twice.
    done = actions.run(DATABASE, "nightly.yml", "workflow_dispatch", run=2)
    assert done.code == 0, done
    assert set(done.results()) == {"plan", "ingest", "conclude"}
    assert len(github.repository(DATABASE).issues.all()) == 1
    assert not github.repository(DATABASE).comments_of(issue.number)
    assert leftovers(own_cache) == []
