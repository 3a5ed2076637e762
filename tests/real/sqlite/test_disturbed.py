"""Steps of a real SQLite that are disturbed: measured again, and nothing measured is lost."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil
import pytest
from sqlalchemy import Engine

from pipeline.experiments.runner import BenchRunner
from pipeline.machine.account import Account
from pipeline.machine.disturbance.base import ClockReading, Limits
from pipeline.machine.disturbance.guard import Guard
from pipeline.machine.kernel_files import Tree
from pipeline.measure.build import SHIPPED_OPTIONS, Builder
from pipeline.measure.progress import Silent
from pipeline.measure.workspace import Workspace
from pipeline.model import Build, Cell, Machine, Revision, Scale, Step, StepStatus
from pipeline.storage.bundle import Bundle, list_all, list_bundles, read_bundle
from pipeline.storage.database import open_store
from pipeline.storage.ingest import ingest
from pipeline.storage.measurements import rows
from pipeline.storage.quarantine import Quarantine
from pipeline.storage.runs import measured
from pipeline.storage.steps import outcomes, remarks
from pipeline.targets.postgres import Postgres
from pipeline.targets.sqlite import SQLite
from pipeline.workloads import find_family
from tests.conftest import Release
from tests.machine.disturbance.strangers import end, stranger
from tests.machine.disturbance.trees import limits

READ, WRITE = "point-query", "update-index"
TOLD = "the time of day was changed by +5.0 s"
SET = {"clock": TOLD}


class Clock:
    """A time of day that is set in the given steps, by the order in which they run.

    It is read before each step and after it.
    """

    def __init__(self, disturbed: Iterable[bool]) -> None:
        self._jumps = [jump for each in disturbed for jump in (0.0, 5.0 if each else 0.0)]
        self._set = 0.0
        self.steps = 0.0

    def __call__(self) -> ClockReading:
        self.steps += 0.5
        self._set += self._jumps.pop(0) if self._jumps else 0.0
        return ClockReading(realtime=1000.0 + self._set, monotonic=10.0, boottime=20.0)


class StoppedError(Exception):
    """What comes in the way of a night."""


class Reporter(Silent):
    """Keeps what is said of disturbances; stops at the step of this number, if it is told one."""

    def __init__(self, stop_at: int = 0, on_note: Callable[[], None] = lambda: None) -> None:
        self.notes: list[str] = []
        self._stop_at, self._on_note, self._steps = stop_at, on_note, 0

    def note(self, text: str) -> None:
        if "disturbed" in text:
            self.notes.append(text)
            self._on_note()

    def step_begins(self, step: Step) -> None:
        self._steps += 1
        if self._steps == self._stop_at:
            raise StoppedError


class Bench:
    """A place to measure on SQLite, with bundles in a folder."""

    def __init__(
        self, folder: Path, cache: Path, root: Path, account: Account, machine: Machine
    ) -> None:
        self.bundles = folder / "bundles"
        self.silent = Tree(folder / "nothing")
        self._builder = Builder(cache, account)
        self._workspace = Workspace(root / "cache", account)
        self._machine = machine

    def cell(self, *steps: str) -> Cell:
        revision = Revision(
            target="sqlite",
            version="3.46.0",
            order=(3, 46, 0),
            major="3.46",
            locator="0.30.0",
            supply=SQLite.supplies[0],
        )
        small = self._machine.model_copy(update={"memory_bytes": 2**30})
        return Cell(
            revision=revision,
            build_options=next(iter(SHIPPED_OPTIONS)),
            config=SQLite().config("wal", revision, small),
            machine_class="test",
            workload=find_family("sysbench").workload(
                "w", steps, Scale(tables=1, rows=1000, clients=1, measure=1, warmup=0.1), {}
            ),
        )

    def measure(self, cell: Cell, repetition: int, guard: Guard, reported: Reporter) -> Bundle:
        with BenchRunner(
            self.bundles.parent,
            self._builder,
            self._workspace,
            self._machine,
            reported,
            guard,
            Quarantine(self.bundles.parent),
        ) as runner:
            runner.measure(cell, repetition)
        return self.bundle(cell.run_id(repetition))

    def guard(self, *disturbed: bool, repeat: int = 2) -> Guard:
        """Return a guard that sees such a clock, and nothing else."""
        return Guard(Limits(repeat=repeat), self.silent, Clock(disturbed))

    def bundle(self, name: str) -> Bundle:
        return read_bundle(self.bundles / f"{name}.tar.zst")

    def attempts(self) -> list[str]:
        """Return the numbers of the attempts that do not count, and ``run`` for one that does."""
        names = [path.name.removesuffix(".tar.zst") for path in list_all(self.bundles)]
        return [name.partition(".disturbed-")[2] or "run" for name in names]


@pytest.fixture
def bench(
    sqlite_builds: Callable[..., Build],
    server_folder: Path,
    tmp_path: Path,
    cache: Path,
    account: Account,
    machine: Machine,
) -> Bench:
    sqlite_builds("3.46.0", "rel_o2nofp")
    return Bench(tmp_path, cache, server_folder, account, machine)


@pytest.fixture
def store(tmp_path: Path) -> Engine:
    return open_store(f"sqlite:///{tmp_path}/store.db")


def test_a_step_that_reads_is_repeated_at_once(bench: Bench) -> None:
    reported = Reporter()
    bundle = bench.measure(bench.cell(READ), 1, bench.guard(True, False), reported)
    (step,), (before,) = bundle.manifest.steps, bundle.manifest.repeated
    assert (step.status, step.disturbed) == (StepStatus.OK, {})
    assert (before.status, before.disturbed) == (StepStatus.OK, SET)
    assert reported.notes == [f"3.46.0 point-query_range=100 disturbed: {TOLD}; repeated"]
    assert bench.attempts() == ["run"]
    # Both are there as they came, and were of other keys.
    assert before.folder == f"{step.folder}.disturbed-1"
    outputs = {bundle.files[f"{each.folder}/stdout.txt"] for each in (step, before)}
    assert len(outputs) == 2
    seeds = [re.findall(r"--rand-seed=(\d+)", " ".join(each.command)) for each in (before, step)]
    assert int(seeds[1][0]) == int(seeds[0][0]) + 1


def test_what_stays_is_marked_and_the_next_run_is_not_repeated(bench: Bench, store: Engine) -> None:
    cell, reported = bench.cell(READ), Reporter()
    guard = bench.guard(*[True] * 9)
    first = bench.measure(cell, 1, guard, reported).manifest
    assert (len(first.repeated), first.steps[0].disturbed) == (2, SET)
    second = bench.measure(cell, 2, guard, reported).manifest
    assert (len(second.repeated), second.steps[0].disturbed) == (0, SET)
    ingest(store, list_bundles(bench.bundles))
    assert {row.disturbed for row in rows(store)} == {True}
    assert [found.marks for found in remarks(store, cells=[cell.key])] == [["disturbed: clock"]] * 2
    assert [found.marks for found in outcomes(store)] == [[f"disturbed: {TOLD}"]] * 2


def test_a_run_that_writes_is_measured_again_and_its_attempt_is_kept(
    bench: Bench, store: Engine
) -> None:
    cell, reported = bench.cell(WRITE, READ), Reporter()
    bundle = bench.measure(cell, 1, bench.guard(True, False, False, False), reported)
    assert [step.disturbed for step in bundle.manifest.steps] == [{}, {}]
    assert (bundle.manifest.repeated, bundle.manifest.attempt) == ((), 0)
    assert reported.notes == [
        f"3.46.0 update-index_range=100 disturbed: {TOLD}",
        "3.46.0: something else on this machine disturbed the run, so it is repeated",
    ]
    assert bench.attempts() == ["1", "run"]
    attempt = bench.bundle(f"{cell.run_id(1)}.disturbed-1")
    assert attempt.manifest.attempt == 1
    assert [step.disturbed for step in attempt.manifest.steps] == [SET, {}]
    assert {f"{step.folder}/stdout.txt" for step in attempt.manifest.steps} <= set(attempt.files)
    # The store takes the run alone, and that was not disturbed.
    assert ingest(store, list_bundles(bench.bundles)).taken == 1
    assert measured(store) == {(cell.key, 1)}
    assert {row.disturbed for row in rows(store)} == {False}


def test_the_last_attempt_counts_and_is_marked(bench: Bench) -> None:
    bundle = bench.measure(bench.cell(WRITE), 1, bench.guard(*[True] * 9), Reporter())
    assert bundle.manifest.steps[0].disturbed == SET
    assert bench.attempts() == ["1", "2", "run"]


def test_a_night_that_is_killed_goes_on_counting(bench: Bench) -> None:
    cell = bench.cell(WRITE)
    with pytest.raises(StoppedError):
        bench.measure(cell, 1, bench.guard(True), Reporter(stop_at=2))
    # What was measured is there, and the run is still to be made.
    assert bench.attempts() == ["1"]
    assert list(list_bundles(bench.bundles)) == []
    before = bench.bundle(f"{cell.run_id(1)}.disturbed-1").sha256
    clock = Clock([True] * 9)
    again = Guard(Limits(repeat=2), bench.silent, clock)
    assert bench.measure(cell, 1, again, Reporter()).manifest.steps[0].disturbed == SET
    assert bench.attempts() == ["1", "2", "run"]
    assert clock.steps == 2
    assert bench.bundle(f"{cell.run_id(1)}.disturbed-1").sha256 == before


def test_marking_only(bench: Bench) -> None:
    bundle = bench.measure(
        bench.cell(WRITE, READ), 1, bench.guard(True, True, repeat=0), Reporter()
    )
    assert [step.disturbed for step in bundle.manifest.steps] == [SET, SET]
    assert bundle.manifest.repeated == ()
    assert bench.attempts() == ["run"]


def crash_server(step: str) -> None:
    """Wait until a step is run by this process, and let its server crash."""
    victim = None
    while victim is None:
        # What is looked at may end meanwhile.
        with contextlib.suppress(psutil.NoSuchProcess):
            found = {each.name(): each for each in psutil.Process().children()}
            if "sysbench" in found and f"--step={step}" in found["sysbench"].cmdline():
                victim = found["postgres"]
        time.sleep(0.02)
    victim.send_signal(signal.SIGSEGV)


def test_a_server_that_crashes_in_a_disturbed_step_is_no_result(
    bench: Bench, releases: Callable[[str], Release], machine: Machine
) -> None:
    revision = releases("17").revision
    cell = bench.cell(WRITE, READ).model_copy(
        update={
            "revision": revision,
            "build_options": "official",
            "config": Postgres().config(
                "x10a", revision, machine.model_copy(update={"memory_bytes": 2**30})
            ),
        }
    )
    # A daemon: a test that fails does not wait for it.
    crash = threading.Thread(target=crash_server, args=(WRITE,), daemon=True)
    crash.start()
    bundle = bench.measure(cell, 1, bench.guard(True), Reporter())
    assert [step.status for step in bundle.manifest.steps] == [StepStatus.OK] * 2
    assert bench.attempts() == ["1", "run"]
    attempt = bench.bundle(f"{cell.run_id(1)}.disturbed-1").manifest
    assert [step.status for step in attempt.steps] == [StepStatus.FAILED] * 2
    assert [step.disturbed for step in attempt.steps] == [SET, {}]


class Only(Tree):
    """This machine with the processors' time and one process, and nothing else."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self._process = f"/proc/{pid}/stat"

    def glob(self, pattern: str) -> list[str]:
        return [path for path in super().glob(pattern) if path == self._process]

    def read(self, path: str) -> str:
        return super().read(path) if path in ("/proc/stat", self._process) else ""


def test_a_real_process_disturbs_a_step_until_it_is_gone(bench: Bench) -> None:
    with stranger() as busy:
        reported = Reporter(on_note=lambda: end(busy))
        # However busy the machine, it gets more than that; and once it is gone, nothing.
        guard = Guard(limits(others="0.1%", steal="100%", clock_jump="24h"), Only(busy.pid))
        bundle = bench.measure(bench.cell(READ), 1, guard, reported)
    (step,), (before,) = bundle.manifest.steps, bundle.manifest.repeated
    said = before.disturbed["other processes"]
    assert said.startswith("other processes used ")
    assert f"(pid {busy.pid}, " in said
    assert step.disturbed == {}
    assert reported.notes == [f"3.46.0 point-query_range=100 disturbed: {said}; repeated"]
