"""A whole night by its workflow, of real Postgres: a hub, benches, and what goes wrong on them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from tests.fakes.github.server import GithubServer
from tests.fakes.hetzner import FakeHetzner
from tests.fakes.hetzner.server import TOKEN as CLOUD_TOKEN
from tests.nights import leftovers
from tests.real.workflows.act import TOKEN, Actions, commit
from tests.real.workflows.conftest import ADMINISTRATOR, DATABASE, caller

CONFIG = """
[preflight]
wait = "0s"

[night]
repetitions = {repetitions}

[github]
repository = "example/db"
url = "{url}"

[notify]
sinks = ["directory", "github"]

[fleet]
per_night = "1 EUR"
per_month = "10 EUR"

[[class]]
name = "first"
cores = {cores}
memory_gb = {memory}
server_type = "ccx13"

[[line]]
name = "minors"
target = "postgres"
revisions = ["17.5"]

[disturbance]
watch = false

[[workload]]
name = "short"
rows = 1000
steps = ["point-query"]
measure = "1s"
warmup = "100ms"
"""

REPETITIONS = 3
"""One more than are needed, for a machine on which one that is killed after a run has done two."""

SECRETS = """\
    secrets:
      hcloud_token: ${{ secrets.hcloud_token }}
      runner_token: ${{ secrets.runner_token }}
"""


@pytest.fixture
def night(actions: Actions, github: GithubServer, machine: Machine) -> Actions:
    """A repository that calls the night."""
    files = {
        "nightshift.toml": CONFIG.format(
            url=github.url,
            cores=machine.cores,
            memory=memory_gb(machine.memory_bytes),
            repetitions=REPETITIONS,
        ),
        ".github/workflows/nightly.yml": caller("nightly.yml", "workflow_dispatch", SECRETS),
    }
    commit(actions.repositories[DATABASE], files, "nights")
    return actions


def bundles(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("bundles/*.tar.zst")}


def test_a_night_goes_on_where_a_bench_failed(
    night: Actions, hetzner: FakeHetzner, own_cache: Path
) -> None:
    actions = night
    crash = actions.folder / "crash"
    crash.touch()
    actions.environ["STAND_INS_CRASH"] = str(crash)
    results = actions.home / DATABASE / "results"

    done = actions.run(DATABASE, "nightly.yml", "workflow_dispatch")
    assert done.code != 0, done
    reported = done.results()
    assert reported.pop("measure", "") == "failure", done
    # The results were taken and reported, and the server is gone.
    assert {"plan", "provision", "ingest", "conclude", "teardown"} == reported.keys(), done
    assert set(reported.values()) == {"success"}, done
    (gone,) = hetzner.project.past
    assert gone["name"].endswith("-first-1")
    assert not hetzner.project.things["servers"]
    first = bundles(results)
    assert 0 < len(first) < REPETITIONS, done
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
    assert len(second) == REPETITIONS
    assert first.items() <= second.items(), "what was measured once was measured again"
    uploaded = {path.name for path in actions.artifacts(1).glob("measured-*")}
    (batch,) = {name.rpartition("-attempt-")[0] for name in uploaded}
    assert re.fullmatch(r"measured-first-001-[0-9a-f]{8}", batch)
    assert uploaded == {f"{batch}-attempt-1", f"{batch}-attempt-2"}
    assert not list((actions.home / DATABASE / "batches" / "1").iterdir())
    assert not hetzner.project.things["servers"]
    for secret in (TOKEN, ADMINISTRATOR, CLOUD_TOKEN):
        assert secret not in str(done) and secret not in str(hetzner.project.user_data)
    assert leftovers(own_cache) == []
