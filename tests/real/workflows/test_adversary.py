"""A night whose benches forge what they send: several artifacts of measuring, one of pursuing."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from pipeline.storage.bundle import list_bundles, read_bundle
from tests.nights import leftovers
from tests.real.workflows.act import Actions, commit
from tests.real.workflows.adversary import FUTURE, UNDECLARED
from tests.real.workflows.conftest import DATABASE, caller
from tests.real.workflows.test_pull_requests import STEP, WAIT
from tests.repositories import FAST_BUILD, releases_as_commits

CONFIG = (
    """
[preflight]
wait = "0s"

[disturbance]
watch = false

[confirm]
budget = "10s"

[[class]]
name = "bench"
cores = {cores}
memory_gb = {memory}

[[line]]
name = "main"
target = "sqlite"
source = "git"
repository = "{repository}"
newest = 3
build = "fast_to_compile"

[[workload]]
name = "counts"
config = "wal"
rows = 1000
steps = ["point-query"]
mode = "count"
"""
    + FAST_BUILD
)


def nightshift(actions: Actions, *words: str) -> str:
    """Run a verb on the hub, and return what it prints."""
    done = subprocess.run(
        [str(actions.folder / "bin" / "nightshift"), *words],
        cwd=actions.home / DATABASE,
        env={**os.environ, **actions.environ},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def test_benches_that_forge_decide_nothing(
    actions: Actions,
    machine: Machine,
    cache: Path,
    own_cache: Path,
    tmp_path: Path,
) -> None:
    code = tmp_path / "sqlite"
    releases_as_commits(code, ["3.46.0"], cache)
    whole = (code / "sqlite3.c").read_text()
    commit(code, {"sqlite3.c": f"{whole}\n/* more */\n"}, "a comment")
    slow = commit(code, {"sqlite3.c": whole.replace(STEP, STEP + WAIT, 1)}, "slower")
    files = {
        "nightshift.toml": CONFIG.format(
            repository=code, cores=machine.cores, memory=memory_gb(machine.memory_bytes)
        ),
        ".github/workflows/nightly.yml": caller("nightly.yml", "workflow_dispatch"),
    }
    commit(actions.repositories[DATABASE], files, "nights")
    home = actions.home / DATABASE
    home.mkdir(parents=True)
    (home / "nightshift.toml").write_text(files["nightshift.toml"])
    actions.environ["STAND_INS_HOSTILE"] = "yes"

    done = actions.run(DATABASE, "nightly.yml", "workflow_dispatch", seconds=1800)
    results = done.results()
    assert results["measure"] == "success", done
    assert results.get("pursue") == "success", done
    artifacts = sorted(each.name.partition("-")[0] for each in actions.artifacts(1).iterdir())
    assert artifacts.count("measured") > 1 and artifacts.count("pursued") == 1, artifacts
    # What was forged is named, and the job of the hub fails, so that somebody looks.
    assert (results["ingest"], results["conclude"]) == ("failure", "failure"), done
    refused = "was not requested from this bench"
    for job, forged in (("ingest", f"/{UNDECLARED}-"), ("ingest", "/experiments/confirm-x")):
        lines = [line for line in done.said(job).splitlines() if forged in line]
        assert len(lines) == 3 and all(refused in line for line in lines), done.said(job)
    # The outcome of the pursuit is refused, and its bundles are judged by the hub.
    assert "1 experiment, 1 refused" in done.said("conclude"), done.said("conclude")

    folder = home / "results"
    kept = list(list_bundles(folder / "bundles"))
    assert len(kept) == 3
    assert {read_bundle(path).manifest.machine.machine_class for path in kept} == {"bench"}
    (one,) = json.loads(nightshift(actions, "regressions", "--format", "json"))
    assert (one["state"], one["first_bad"]) == ("confirmed", slow[:12])
    decided = [each for each in folder.rglob("*.json*") if each.parent.name != "logs"]
    texts = [each.read_text() for each in decided]
    assert texts and not any(FUTURE in text or UNDECLARED in text for text in texts)
    assert leftovers(own_cache) == []
