from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pipeline.machine.disturbance.others import ticks_used, watch_others
from pipeline.machine.kernel_files import Tree
from pipeline.machine.processes import read_processes
from tests.machine.disturbance.strangers import stranger
from tests.machine.disturbance.trees import limits, process, reported, total

HARNESS = process(100, "nightshift")


def test_a_process_of_someone_else_is_named_with_its_share(tmp_path: Path) -> None:
    said = reported(
        watch_others,
        tmp_path,
        {**total(0, 0), **HARNESS, **process(812, "apt-get", own=50)},
        {**total(400, 600), **process(812, "apt-get", own=360)},
    )
    assert said == "other processes used 31 % of the processors: apt-get (pid 812, 31 %)"


def test_up_to_the_limit_nothing_is_said(tmp_path: Path) -> None:
    before = {**total(0, 0), **HARNESS, **process(812, "cron", own=0)}
    after = {**total(400, 600), **process(812, "cron", own=50)}
    assert reported(watch_others, tmp_path, before, after) == ""
    assert reported(watch_others, tmp_path, before, after, within=limits(others="4%")) != ""


def test_server_client_and_all_below_them_are_ours(tmp_path: Path) -> None:
    said = reported(
        watch_others,
        tmp_path,
        {**total(0, 0), **HARNESS, **process(200, "postgres")},
        {
            **total(900, 100),
            **process(100, "nightshift", own=10, reaped=300),
            **process(101, "sysbench", 100, own=200),
            **process(200, "postgres", own=5, reaped=90),
            **process(201, "postgres", 200, own=290),
        },
        ours=(100, 200),
    )
    assert said == ""


def test_threads_of_the_kernel_work_for_the_dbms(tmp_path: Path) -> None:
    """Also where number 2 is a process as any other, as in a container."""
    before = {**total(0, 0), **HARNESS, **process(2, "kthreadd", 0, kernel=True)}
    after = {**total(900, 100), **process(9, "kworker/u4:1-flush", 2, own=500, kernel=True)}
    assert reported(watch_others, tmp_path, before, after) == ""
    after |= process(9, "runner", 2, own=500)
    assert "runner (pid 9, 50 %)" in reported(watch_others, tmp_path, before, after)


def test_what_began_and_ended_meanwhile_is_its_parent_s(tmp_path: Path) -> None:
    said = reported(
        watch_others,
        tmp_path,
        {**total(0, 0), **HARNESS, **process(70, "make", own=3, reaped=1000)},
        {**total(900, 100), **process(70, "make", own=3, reaped=1600)},
    )
    assert said == "other processes used 60 % of the processors: make (pid 70, 60 %)"


def test_what_a_process_had_used_before_is_not_counted_when_it_ends(tmp_path: Path) -> None:
    """An old process, and the child that it had, end: the parent is given all of their time."""
    before = {
        **total(0, 0),
        **HARNESS,
        **process(70, "shell"),
        **process(71, "old", 70, own=70_000, reaped=5),
        **process(72, "older", 71, own=9_000),
    }
    after = {**total(900, 100), **process(70, "shell", reaped=79_005 + 20)}
    gone = ["/proc/71/stat", "/proc/72/stat"]
    assert reported(watch_others, tmp_path, before, after, gone=gone) == ""
    after |= process(70, "shell", reaped=79_005 + 80)
    (tmp_path / "proc/70/stat").unlink()
    assert "shell (pid 70, 8 %)" in reported(watch_others, tmp_path, before, after, gone=gone)


def test_a_parent_that_is_given_nothing_hides_no_other(tmp_path: Path) -> None:
    """Of children that nobody waits for, the kernel gives their time to none."""
    said = reported(
        watch_others,
        tmp_path,
        {
            **total(0, 0),
            **HARNESS,
            **process(70, "daemon"),
            **process(71, "old", 70, own=70_000),
            **process(80, "busy"),
        },
        {**total(900, 100), **process(80, "busy", own=100)},
        gone=["/proc/71/stat"],
    )
    assert said == (
        "other processes used 10 % of the processors: busy (pid 80, 10 %), daemon (pid 70, 0 %)"
    )


def test_a_number_that_was_given_to_another_process_is_another_process(tmp_path: Path) -> None:
    said = reported(
        watch_others,
        tmp_path,
        {**total(0, 0), **HARNESS, **process(70, "old", own=70_000, began=7)},
        {**total(900, 100), **process(70, "new", own=200, began=9)},
    )
    assert said == "other processes used 20 % of the processors: new (pid 70, 20 %)"


def test_the_three_that_used_most_are_named(tmp_path: Path) -> None:
    others = {10 * n: process(10 * n, f"p{n}", own=10 * n) for n in range(1, 6)}
    after = {**total(900, 100), **HARNESS}
    for each in others.values():
        after |= each
    said = reported(watch_others, tmp_path, {**total(0, 0), **HARNESS}, after)
    assert said == (
        "other processes used 15 % of the processors: "
        "p5 (pid 50, 5 %), p4 (pid 40, 4 %), p3 (pid 30, 3 %)"
    )


@pytest.mark.parametrize("missing", ["before", "after", "both", "passed"])
def test_a_kernel_that_does_not_report_is_not_blamed(tmp_path: Path, missing: str) -> None:
    before, after = {**total(0, 0), **HARNESS}, {**total(9, 1), **process(70, "x", own=9)}
    if missing in ("before", "both"):
        before["/proc/stat"] = "intr 1"
    if missing in ("after", "both"):
        after["/proc/stat"] = "intr 1"
    if missing == "passed":
        after |= total(0, 0)
    assert reported(watch_others, tmp_path, before, after) == ""


@pytest.fixture
def child() -> Iterator[psutil.Process]:
    """A process that is always busy and below this one."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        yield psutil.Process(busy.pid)
        busy.kill()


def use_time(*busy: psutil.Process, seconds: float = 0.1) -> None:
    """Wait until processes have used so much more processor time, however long that takes."""
    wanted = [sum(each.cpu_times()[:2]) + seconds for each in busy]
    while any(
        sum(each.cpu_times()[:2]) < enough for each, enough in zip(busy, wanted, strict=True)
    ):
        time.sleep(0.05)


def test_on_this_machine_a_stranger_is_seen_and_a_child_is_not(child: psutil.Process) -> None:
    with stranger() as busy:
        before = read_processes(Tree())
        use_time(busy, child)
        used = ticks_used(before, read_processes(Tree()), {os.getpid()})
    ticks = {pid: by for (pid, _), by in used.items()}
    assert ticks[busy.pid] >= 0.05 * os.sysconf("SC_CLK_TCK")
    assert child.pid not in ticks
    assert os.getpid() not in ticks
