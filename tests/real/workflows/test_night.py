"""A whole night by its workflow, of real Postgres: a hub, benches, and what goes wrong on them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from contextlib import chdir
from pathlib import Path

import pytest

from pipeline.machine.fingerprint import memory_gb
from pipeline.model import Machine
from pipeline.storage.server_log import Servers, lives
from pipeline.use_cases.measuring import MeasuringContext
from tests.cli.measured import write_run
from tests.fakes.github.server import GithubServer
from tests.fakes.hetzner import FakeHetzner
from tests.fakes.hetzner.server import TOKEN as CLOUD_TOKEN
from tests.nights import leftovers
from tests.real.infra.terraform import PROGRAMS, terraform
from tests.real.workflows.act import TOKEN, Actions, commit
from tests.real.workflows.conftest import ADMINISTRATOR, DATABASE, caller
from tests.s3 import ACCESS_KEY, REGION, S3, SECRET_KEY

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

[[class]]
name = "second"
cores = 8
memory_gb = 32
server_type = "ccx33"

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
      state_access_key: ${{ secrets.state_access_key }}
      state_secret_key: ${{ secrets.state_secret_key }}
"""


@pytest.fixture
def bucket(s3: S3) -> Path:
    """The bucket with Terraform's states, as a folder."""
    return s3.bucket("states")


@pytest.fixture(params=PROGRAMS)
def terraform_on_hub(
    request: pytest.FixtureRequest, actions: Actions, bucket: Path, s3: S3, tmp_path: Path
) -> None:
    """Terraform or OpenTofu on the hub, as its module installs it."""
    program = terraform(request.param, tmp_path / "terraform")
    (actions.folder / "bin" / request.param).symlink_to(program.program)
    settings = actions.folder / "nights.tfbackend"
    settings.write_text(
        f'bucket = "{bucket.name}"\nregion = "{REGION}"\nuse_path_style = true\n'
        f'endpoints = {{ s3 = "{s3.url}" }}\n'
    )
    actions.environ |= {
        "NIGHTSHIFT_STATE": str(settings),
        "TF_CLI_ARGS_init": f"-plugin-dir={program.mirror}",
        "TF_CLI_CONFIG_FILE": program.environ["TF_CLI_CONFIG_FILE"],
    }
    actions.secrets |= {"state_access_key": ACCESS_KEY, "state_secret_key": SECRET_KEY}


@pytest.fixture
def night(
    actions: Actions, github: GithubServer, machine: Machine, terraform_on_hub: None
) -> Actions:
    """A repository that calls the night; its second class was measured before."""
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
    home = actions.home / DATABASE
    home.mkdir(parents=True)
    (home / "nightshift.toml").write_text(files["nightshift.toml"])
    with chdir(home):
        measured_before(actions, home, "second")
    return actions


def measured_before(actions: Actions, home: Path, name: str) -> None:
    """Leave the results of a class as an earlier night does."""
    nightshift = str(actions.folder / "bin" / "nightshift")
    environ = {**os.environ, **actions.environ}
    subprocess.run([nightshift, "discover"], cwd=home, env=environ, check=True)
    context = MeasuringContext(home / "nightshift.toml")
    for cell, repetition in context.plan().of_class(name).remaining(()):
        write_run(context, cell, repetition)
    subprocess.run([nightshift, "ingest"], cwd=home, env=environ, check=True)


def bundles(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("bundles/*.tar.zst")}


def over(actions: Actions, hetzner: FakeHetzner, bucket: Path) -> None:
    """Nothing of a night is left, and the record says what it cost."""
    assert not any(hetzner.project.things.values())
    (state,) = bucket.rglob("*.tfstate")
    assert json.loads(state.read_text())["resources"] == [] and not list(bucket.rglob("*.tflock"))
    lived = lives(Servers(actions.home / DATABASE / "results").read()).values()
    assert all(life.ended is not None for life in lived)
    cost = sum(life.cost(life.rent.expires).amount for life in lived)
    assert cost == pytest.approx(hetzner.project.bill()) and cost > 0


def test_a_night_goes_on_where_a_bench_failed(
    night: Actions, hetzner: FakeHetzner, own_cache: Path, bucket: Path
) -> None:
    actions = night
    before = bundles(actions.home / DATABASE / "results")
    crash = actions.folder / "crash"
    crash.touch()
    actions.environ["STAND_INS_CRASH"] = str(crash)
    results = actions.home / DATABASE / "results"

    done = actions.run(DATABASE, "nightly.yml", "workflow_dispatch")
    assert done.code != 0, done
    reported = done.results()
    assert reported.pop("measure", "") == "failure", done
    # Terraform created what was due and destroyed it; the results were taken and reported.
    assert {"plan", "provision", "ingest", "conclude", "teardown"} == reported.keys(), done
    assert set(reported.values()) == {"success"}, done
    (gone,) = hetzner.project.past
    assert gone["name"].endswith("-first-1"), "a class that is not due has servers"
    over(actions, hetzner, bucket)
    assert "Apply complete! Resources: 3 added" in done.said("provision"), done
    assert "Destroy complete! Resources: 3 destroyed" in done.said("teardown"), done
    first = {name: each for name, each in bundles(results).items() if name not in before}
    assert 0 < len(first) < REPETITIONS, done
    assert (results / "report.html").exists() and (results / "site" / "index.html").exists()
    assert len((results / "nights.jsonl").read_text().splitlines()) == 1

    # The jobs that failed are run again: with the plan as it was, so with the hub as it was.
    for name in first:
        (results / "bundles" / name).unlink()
    for path in results.glob("store.db*"):
        path.unlink()
    subprocess.run(
        [str(actions.folder / "bin" / "nightshift"), "ingest"],
        cwd=results.parent,
        env={**os.environ, **actions.environ},
        check=True,
    )
    done = actions.run(DATABASE, "nightly.yml", "workflow_dispatch", attempt=2)
    assert done.code == 0, done
    assert set(done.results().values()) == {"success"}
    second = {name: each for name, each in bundles(results).items() if name not in before}
    assert len(second) == REPETITIONS
    assert first.items() <= second.items(), "what was measured once was measured again"
    uploaded = {path.name for path in actions.artifacts(1).glob("measured-*")}
    (batch,) = {name.rpartition("-attempt-")[0] for name in uploaded}
    assert re.fullmatch(r"measured-first-001-[0-9a-f]{8}", batch)
    assert uploaded == {f"{batch}-attempt-1", f"{batch}-attempt-2"}
    assert not list((actions.home / DATABASE / "batches" / "1").iterdir())
    over(actions, hetzner, bucket)
    for secret in (TOKEN, ADMINISTRATOR, CLOUD_TOKEN, SECRET_KEY):
        assert secret not in str(done) and secret not in str(hetzner.project.user_data)
    (told,) = hetzner.project.user_data.values()
    configurations = [
        file["content"]
        for file in json.loads(told.partition("\n")[2])["write_files"]
        if "/jobs/" in file["path"]
    ]
    uploads = b"".join(
        path.read_bytes() for path in actions.artifacts(1).rglob("*") if path.is_file()
    )
    for secret in configurations:
        assert secret not in str(done) and secret.encode() not in uploads
        assert secret not in "".join(path.read_text() for path in bucket.rglob("*.tfstate"))
    assert leftovers(own_cache) == []
