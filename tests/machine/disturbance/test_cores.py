"""Theft and other work on fabricated machines of 2 to 96 cores: it counts on the measured cores."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pipeline.machine.disturbance.base import ShareWatch
from pipeline.machine.disturbance.others import watch_others
from pipeline.machine.disturbance.processors import watch_steal
from pipeline.machine.pinning import ConcurrentWork, choose
from pipeline.machine.topology import Core
from pipeline.model import Pinning
from tests.machine.disturbance.trees import process, reported

STEP = 1000
"""Ticks of a step on each processor."""

NOBODY: Mapping[int, int] = {}

HARNESS, SERVER, CLIENT, CHECKPOINTS, FOREIGN, KERNEL = 100, 200, 300, 201, 812, 9


class FabricatedMachine:
    """A machine of some cores, with one or two threads each, that measures some connections."""

    def __init__(self, cores: int, threads: int, connections: int) -> None:
        self.cores = [
            Core(tuple(number + cores * thread for thread in range(threads)))
            for number in range(cores)
        ]
        self.processors = sorted(each for core in self.cores for each in core.processors)
        self.pinning: Pinning = choose(ConcurrentWork(connections, background=4), self.cores)
        self.serving = sorted({*self.pinning.server, *self.pinning.client})
        self.measured = {
            each
            for core in self.cores
            if not set(core.processors).isdisjoint(self.serving)
            for each in core.processors
        }
        self.elsewhere = [each for each in self.processors if each not in self.measured]

    def files(
        self, ticks: int, stolen: Mapping[int, int] = NOBODY, foreign: Mapping[int, int] = NOBODY
    ) -> dict[str, str]:
        """Return the kernel's files after some ticks of a step.

        The server's connections take 60 % of the processors that serve, its background work 30 % of
        one other processor. ``stolen`` and ``foreign`` are ticks by processor.
        """
        server = dict.fromkeys(self.pinning.server, ticks * 6 // 10)
        beside = next((each for each in self.pinning.background if each in self.elsewhere), None)
        background = {beside: ticks * 3 // 10} if beside is not None else {}
        kernel = {self.serving[0]: ticks // 20}
        lines = []
        for each in self.processors:
            parts = (server, background, foreign, kernel)
            busy = sum(part.get(each, 0) for part in parts)
            steal = stolen.get(each, 0)
            lines.append(f"cpu{each} {busy} 0 0 {ticks - busy - steal} 0 0 0 {steal} 0 0")
        files = {"/proc/stat": "\n".join([f"cpu  {ticks} 0 0 0 0 0 0 0 0 0", *lines])}
        for core in self.cores:
            for each in core.processors:
                folder = f"/sys/devices/system/cpu/cpu{each}/topology"
                files[f"{folder}/thread_siblings_list"] = ",".join(map(str, core.processors))
        files |= process(HARNESS, "nightshift", processor=0)
        files |= process(
            SERVER, "postgres", own=sum(server.values()), processor=self.pinning.server[0]
        )
        files |= process(
            CHECKPOINTS,
            "postgres",
            SERVER,
            own=sum(background.values()),
            processor=self.processors[0] if beside is None else beside,
        )
        files |= process(
            KERNEL, "kworker/1", 2, own=ticks // 20, kernel=True, processor=self.serving[0]
        )
        return files | process(FOREIGN, "hog", own=sum(foreign.values()))

    def says(
        self,
        watch: ShareWatch,
        root: Path,
        stolen: Mapping[int, int] = NOBODY,
        foreign: Mapping[int, int] = NOBODY,
    ) -> str:
        """Return what a watch reports of a step with such theft and such other work."""
        return reported(
            watch,
            root,
            self.files(0),
            self.files(STEP, stolen, foreign),
            ours=(HARNESS, SERVER),
            serving=self.serving,
        )


@pytest.fixture(
    params=[
        (cores, threads, connections)
        for cores in (2, 3, 4, 8, 16, 24, 48, 96)
        for threads in (1, 2)
        for connections in (1, 4, 24)
    ],
    ids=lambda shape: f"{shape[0]}x{shape[1]}-{shape[2]}",
)
def machine(request: pytest.FixtureRequest) -> FabricatedMachine:
    return FabricatedMachine(*request.param)


def test_a_calm_step_is_calm(machine: FabricatedMachine, tmp_path: Path) -> None:
    assert machine.says(watch_steal, tmp_path) == ""
    assert machine.says(watch_others, tmp_path) == ""


def test_theft_from_a_core_that_serves(machine: FabricatedMachine, tmp_path: Path) -> None:
    core = machine.pinning.server[-1]
    assert machine.says(watch_steal, tmp_path / "much", {core: 90}).endswith(
        f"% of the time of processor {core}"
    )
    assert machine.says(watch_steal, tmp_path / "little", {core: 25}) == ""


def test_theft_elsewhere(machine: FabricatedMachine, tmp_path: Path) -> None:
    assert machine.says(watch_steal, tmp_path, dict.fromkeys(machine.elsewhere, 600)) == ""


def test_other_work_on_a_core_that_serves(machine: FabricatedMachine, tmp_path: Path) -> None:
    core = machine.pinning.server[-1]
    assert machine.says(watch_others, tmp_path / "much", foreign={core: 60}) == (
        "other processes used 6 % of a measured core; busiest: hog (pid 812, 6 %)"
    )
    assert machine.says(watch_others, tmp_path / "little", foreign={core: 40}) == ""


def test_other_work_on_the_other_thread_of_a_core_that_serves(
    machine: FabricatedMachine, tmp_path: Path
) -> None:
    own = {*machine.pinning.server, *machine.pinning.client}
    for sibling in sorted(machine.measured - own):
        assert "hog (pid 812, 90 %)" in machine.says(watch_others, tmp_path, foreign={sibling: 900})


def test_other_work_elsewhere(machine: FabricatedMachine, tmp_path: Path) -> None:
    """As 2.3 whole cores of it on a server of 48."""
    foreign = dict(zip(machine.elsewhere, (900, 900, 500), strict=False))
    # What the background work leaves.
    beside = {each: min(by, 700) for each, by in foreign.items()}
    assert machine.says(watch_others, tmp_path, foreign=beside) == ""


def test_a_core_that_serves_little_is_not_marked_for_a_tick(tmp_path: Path) -> None:
    machine = FabricatedMachine(48, 1, 24)
    idle = machine.pinning.client[0]
    assert machine.says(watch_steal, tmp_path, {idle: 2}) == ""


def test_a_process_that_may_not_run_there_is_not_blamed(tmp_path: Path) -> None:
    machine = FabricatedMachine(8, 1, 1)
    (core,) = machine.pinning.server
    away = process(FOREIGN, "hog", own=900, allowed="0-2")
    after = machine.files(STEP, foreign={core: 300}) | away
    assert (
        reported(
            watch_others,
            tmp_path,
            machine.files(0),
            after,
            ours=(HARNESS, SERVER),
            serving=machine.serving,
        )
        == ""
    )


def test_threads_of_the_server_that_ran_elsewhere_hide_nothing(tmp_path: Path) -> None:
    """Background threads of one process, as MySQL's: their time is not that of the cores."""
    machine = FabricatedMachine(8, 1, 1)
    (core,) = machine.pinning.server
    after = machine.files(STEP, foreign={core: 100})
    # The process used 600 ticks on the core, and 500 on another.
    parts = ((600, core), (500, machine.elsewhere[0]))
    after |= process(SERVER, "mysqld", own=1100, processor=core)
    for thread, (ticks, processor) in enumerate(parts, 500):
        stat = process(thread, "mysqld", own=ticks, processor=processor)[f"/proc/{thread}/stat"]
        after[f"/proc/{SERVER}/task/{thread}/stat"] = stat
    said = reported(
        watch_others,
        tmp_path,
        machine.files(0),
        after,
        ours=(HARNESS, SERVER),
        serving=machine.serving,
    )
    assert said == "other processes used 10 % of a measured core; busiest: hog (pid 812, 10 %)"


def test_processors_that_the_kernel_does_not_list_count_as_all(tmp_path: Path) -> None:
    before = {"/proc/stat": "cpu  0 0 0 0 0 0 0 0 0 0"} | process(812, "hog")
    after = {"/proc/stat": "cpu  900 0 0 100 0 0 0 0 0 0"} | process(812, "hog", own=310)
    assert reported(watch_others, tmp_path, before, after, serving=(3,)) == (
        "other processes used 31 % of the processors: hog (pid 812, 31 %)"
    )
