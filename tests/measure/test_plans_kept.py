"""The plans of a run: kept with it, and no reason for it to fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.experiments.runner import BenchRunner
from pipeline.machine.account import Account
from pipeline.machine.disturbance.base import Limits
from pipeline.machine.disturbance.guard import Guard
from pipeline.measure.build import Builder
from pipeline.measure.progress import Silent
from pipeline.measure.workspace import Workspace
from pipeline.model import Build, Cell, Machine, Revision, Scale, StepStatus
from pipeline.storage.bundle import Bundle, read_bundle
from pipeline.storage.quarantine import Quarantine
from pipeline.targets.sqlite import SQLite
from pipeline.workloads import find_family
from pipeline.workloads.base.plans import PLANS_MEMBER, read_plans
from pipeline.workloads.sysbench.family import Sysbench
from tests.repositories import FAST

STEP = "point-query_range=100"


@pytest.fixture
def run(
    sqlite_builds: Callable[[str], Build],
    server_folder: Path,
    tmp_path: Path,
    cache: Path,
    account: Account,
    machine: Machine,
) -> Callable[[], Bundle]:
    """Run one short cell on a real SQLite and return its bundle."""
    sqlite_builds("3.46.0")
    revision = Revision(
        target="sqlite",
        version="3.46.0",
        order=(3, 46, 0),
        major="3.46",
        locator="0.30.0",
        supply=SQLite.supplies[0],
    )
    cell = Cell(
        revision=revision,
        build_options=FAST.name,
        config=SQLite().config("wal", revision, machine.model_copy(update={"memory_bytes": 2**30})),
        machine_class="test",
        workload=find_family("sysbench").workload(
            "w", [STEP], Scale(tables=1, rows=1000, clients=1, measure=1, warmup=0.1), {}
        ),
    )

    def measured() -> Bundle:
        workspace = Workspace(server_folder / "cache", account)
        builder = Builder(cache, account, options={FAST.name: FAST})
        guard = Guard(Limits(watch=False))
        aside = Quarantine(tmp_path)
        with BenchRunner(tmp_path, builder, workspace, machine, Silent(), guard, aside) as runner:
            runner.measure(cell, 1)
        (path,) = (tmp_path / "bundles").iterdir()
        return read_bundle(path)

    return measured


def test_the_plans_are_in_the_bundle_and_their_time_is_no_step_s(run: Callable[[], Bundle]) -> None:
    bundle = run()
    ((statement, plan),) = read_plans(bundle.files[PLANS_MEMBER].decode())[STEP].items()
    assert statement == "SELECT c FROM sbtest# WHERE id = ?"
    assert "USING INTEGER PRIMARY KEY" in plan
    names = [phase.name for phase in bundle.manifest.phases]
    assert names.index("plans") == names.index("maintenance") + 1
    assert bundle.manifest.notes.count("plans") == 0


def test_a_run_is_as_good_without_them(
    run: Callable[[], Bundle], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sysbench, "explain", lambda *_: ("sh", "-c", "echo FATAL: no; exit 3"))
    bundle = run()
    assert PLANS_MEMBER not in bundle.files
    assert "no query plans were recorded: exit code 3: FATAL: no" in bundle.manifest.notes
    assert [record.status for record in bundle.manifest.steps] == [StepStatus.OK]
