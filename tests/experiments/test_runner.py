"""Measuring for an experiment: real SQLite, and figures from constructed bundles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.experiments.experiment import Figure
from pipeline.experiments.runner import BenchRunner, figures_of, only_steps
from pipeline.machine.account import Account
from pipeline.machine.disturbance.base import Limits
from pipeline.machine.disturbance.guard import Guard
from pipeline.measure.build import Builder, NotBuiltError
from pipeline.measure.progress import Silent
from pipeline.measure.workspace import Workspace
from pipeline.model import Build, BuildOptions, Cell, Machine, Revision, Scale, StepStatus
from pipeline.storage.bundle import Bundle, read_bundle
from pipeline.storage.quarantine import Quarantine
from pipeline.targets.sqlite import SQLite
from pipeline.text.errors import UserError
from pipeline.workloads import find_family
from tests.repositories import FAST
from tests.storage.bundles import make_run

UNWATCHED = Guard(Limits(watch=False))
"""What else runs on the machine of the tests says nothing of these."""

BROKEN = BuildOptions(name="broken", flags="-include nothing-of-this-name.h")


class Reporter(Silent):
    """Keeps the notes, and the seconds that were reported."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.seconds: list[float | None] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def advance(self, amount: float, left: float | None = None) -> None:
        self.seconds += [amount] if left is None else [None]


@pytest.fixture
def cell(sqlite_builds: Callable[[str], Build], machine: Machine) -> Cell:
    build = sqlite_builds("3.46.0")
    revision = Revision(
        target="sqlite",
        version=build.version,
        order=(3, 46, 0),
        major="3.46",
        locator="0.30.0",
        supply=SQLite.supplies[0],
    )
    return Cell(
        revision=revision,
        build_options=FAST.name,
        config=SQLite().config("wal", revision, machine),
        machine_class="test",
        workload=find_family("sysbench").workload(
            "small",
            ["point-query"],
            Scale(tables=1, rows=1000, clients=1, measure=3, warmup=0.1),
            {},
        ),
    )


@pytest.fixture
def reported() -> Reporter:
    return Reporter()


@pytest.fixture
def runner(
    server_folder: Path,
    tmp_path: Path,
    cache: Path,
    account: Account,
    machine: Machine,
    reported: Reporter,
) -> Iterator[BenchRunner]:
    builder = Builder(cache, account, options={FAST.name: FAST})
    workspace = Workspace(server_folder / "cache", account)
    with BenchRunner(
        tmp_path,
        builder,
        workspace,
        machine,
        reported,
        UNWATCHED,
        Quarantine(tmp_path),
        preflight=lambda: {"turbo": "on"},
    ) as runner:
        other = Workspace(server_folder / "other cache", account)
        with pytest.raises(UserError, match="is measuring on this machine"), other.held():
            pytest.fail("another one measures meanwhile")
        yield runner


def test_a_machine_that_is_refused_is_given_back(
    server_folder: Path, account: Account, machine: Machine
) -> None:
    workspace = Workspace(server_folder / "cache", account)

    def refuse() -> dict[str, str]:
        other = Workspace(server_folder / "other cache", account)
        with pytest.raises(UserError, match="is measuring on this machine"), other.held():
            pytest.fail("preflight looks while somebody else measures")
        raise UserError("not fit")

    builder = Builder(server_folder / "cache", account)
    refused = BenchRunner(
        server_folder,
        builder,
        workspace,
        machine,
        Silent(),
        UNWATCHED,
        Quarantine(server_folder),
        preflight=refuse,
    )
    with pytest.raises(UserError, match="not fit"), refused:
        pytest.fail("it measures all the same")
    with workspace.held():
        pass


def test_an_attempt_is_measured_once_and_then_read(
    runner: BenchRunner, cell: Cell, reported: Reporter, tmp_path: Path
) -> None:
    runner.prepare(cell)
    assert runner.built(cell)
    first = runner.measure(cell, 2)
    assert first[Figure("point-query_range=100", "qps")] > 1000
    assert first[Figure("point-query_range=100", "cpu_us/o")] > 0
    (path,) = (tmp_path / "bundles").iterdir()
    content = path.read_bytes()
    manifest = read_bundle(path).manifest
    assert (manifest.repetition, manifest.cell_key) == (2, cell.key)
    assert manifest.preflight == {"turbo": "on"}
    assert runner.measure(cell, 2) == first
    assert path.read_bytes() == content
    assert len(reported.seconds) == 1
    path.write_bytes(content[:-9])
    again = runner.measure(cell, 2)
    assert again.keys() == first.keys()
    assert again != first
    assert [note for note in reported.notes if "measured again" in note]
    assert (tmp_path / "quarantine" / path.name).read_bytes() == content[:-9]
    assert len(reported.seconds) == 2
    assert None not in reported.seconds, "the progress of one run is not that of the experiment"


def test_a_revision_that_does_not_build_is_reported(
    runner: BenchRunner,
    cell: Cell,
    server_folder: Path,
    account: Account,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = server_folder / "builds"
    own.mkdir()
    for shared in ("downloads", "versions", "cargo"):
        (own / shared).symlink_to(cache / shared)
    builder = Builder(own, account, options={BROKEN.name: BROKEN})
    monkeypatch.setattr(runner, "_builder", builder)
    broken = cell.model_copy(update={"build_options": BROKEN.name})
    assert not runner.built(broken)
    for _ in range(2):
        with pytest.raises(NotBuiltError):
            runner.measure(broken, 1)


@pytest.mark.parametrize(
    ("status", "metrics"),
    [(StepStatus.OK, {"qps", "cpu_us/o"}), (StepStatus.FAILED, set())],
)
def test_a_step_that_failed_has_no_figures(status: StepStatus, metrics: set[str]) -> None:
    manifest, files = make_run()
    records = tuple(
        each.model_copy(update={"status": status}) if "scan" in each.step.name else each
        for each in manifest.steps
    )
    figures = figures_of(Bundle(manifest.model_copy(update={"steps": records}), files, ""))
    scans = {figure.metric for figure in figures if figure.step == "scan_range=100"}
    assert (scans & {"qps", "cpu_us/o"}) == metrics
    assert Figure("point-query_range=100", "qps") in figures


def test_a_narrowed_workload_is_another_one_at_the_same_scale(cell: Cell) -> None:
    whole = find_family("sysbench").workload("all", ["all"], cell.workload.scale, {})
    few = only_steps(whole.model_copy(update={"profile": True}), ["scan", "point-query_range=100"])
    assert {step.name for step in few.steps} == {"point-query_range=100", "scan_range=100"}
    assert (few.scale, few.name, few.version, few.profile) == (
        whole.scale,
        whole.name,
        whole.version,
        True,
    )
    assert few.hash != whole.hash
