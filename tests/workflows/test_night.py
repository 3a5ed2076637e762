"""A whole night by its workflow, of real Postgres: a hub, benches, and what goes wrong on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from tests.integration.nights import leftovers
from tests.workflows.act import NIGHTSHIFT, TOKEN, Actions, make_repository

CONFIG = """
[night]
repetitions = 2

[[class]]
name = "first"
cores = {cores}
memory_gb = {memory}

[[line]]
name = "minors"
target = "postgres"
revisions = ["17.5"]

[[workload]]
name = "short"
rows = 1000
steps = ["point-query"]
measure = "1s"
warmup = "100ms"
"""

CALLER = f"""
on: workflow_dispatch
jobs:
  night:
    uses: {NIGHTSHIFT}/.github/workflows/nightly.yml@v1
"""

DATABASE = "example/db"


@pytest.fixture
def own_cache(server_folder: Path, cache: Path) -> Path:
    """A cache whose archives are those of the other tests."""
    own = server_folder / "cache"
    own.mkdir()
    for shared in ("downloads", "versions"):
        (cache / shared).mkdir(parents=True, exist_ok=True)
        (own / shared).symlink_to(cache / shared)
    return own


@pytest.fixture
def actions(tmp_path: Path, own_cache: Path, machine: Machine) -> Actions:
    """A repository that calls the night."""
    made = Actions(tmp_path / "actions", environ={"NIGHTSHIFT_CACHE": str(own_cache)})
    config = CONFIG.format(cores=machine.cores, memory=memory_gb(machine.memory_bytes))
    made.repositories[DATABASE] = make_repository(
        tmp_path / "db",
        {"nightshift.toml": config, ".github/workflows/nightly.yml": CALLER},
    )
    return made


def bundles(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("bundles/*.tar.zst")}


def test_a_night_goes_on_where_a_bench_failed(actions: Actions, own_cache: Path) -> None:
    crash = actions.folder / "crash"
    crash.touch()
    actions.environ["STAND_INS_CRASH"] = str(crash)
    results = actions.home / DATABASE / "results"

    done = actions.run(DATABASE, "nightly.yml", "workflow_dispatch")
    assert done.code != 0, done
    told = done.results()
    assert told.pop("measure") == "failure"
    # Servers are gone, and what there is was taken and told.
    assert {"plan", "provision", "ingest", "conclude", "teardown"} == told.keys(), done
    assert set(told.values()) == {"success"}, done
    first = bundles(results)
    assert len(first) == 1, done
    assert (results / "report.html").exists() and (results / "site" / "index.html").exists()
    assert len((results / "nights.jsonl").read_text().splitlines()) == 1

    # The jobs that failed are run again: with the plan as it was, so with the hub as it was.
    for name in first:
        (results / "bundles" / name).unlink()
    (results / "store.db").unlink()
    done = actions.run(DATABASE, "nightly.yml", "workflow_dispatch", attempt=2)
    assert done.code == 0, done
    assert set(done.results().values()) == {"success"}
    second = bundles(results)
    assert len(second) == 2
    assert first.items() <= second.items(), "what was measured once was measured again"
    uploaded = {path.name for path in actions.artifacts(1).glob("measured-*")}
    assert uploaded == {"measured-first-001-attempt-1", "measured-first-001-attempt-2"}
    assert not list((actions.home / DATABASE / "batches" / "1").iterdir())
    assert TOKEN not in str(done)
    assert leftovers(own_cache) == []
