"""Counters of real processes; the kernel's own accounts say what they must have counted."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pipeline.probes import perf_counters
from pipeline.probes.perf_counters import EVENTS, PerfCounters, available

needs_page_faults = pytest.mark.skipif(
    "page_faults" not in available().events,
    reason=f"page faults cannot be counted: {available().refused or available().lacks}",
)
needs_hardware = pytest.mark.skipif(
    "instructions" not in available().events,
    reason=f"no counters of the processor: {available().refused or available().lacks}",
)

PAGES = 5000

_TOUCH = """
import mmap, sys
memory = mmap.mmap(-1, int(sys.argv[1]) * mmap.PAGESIZE)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(int(sys.argv[1])):
    memory[page * mmap.PAGESIZE] = 1
print("touched", flush=True)
sys.stdin.readline()
"""
_SERVER = """
import os, subprocess, sys, threading
print("up", flush=True)
sys.stdin.readline()
def connection():
    child = subprocess.Popen([sys.executable, "-c", *sys.argv[1:]], stdin=subprocess.PIPE)
    sys.stdin.readline()
    child.stdin.close()
    print(os.wait4(child.pid, 0)[2].ru_minflt, flush=True)
thread = threading.Thread(target=connection)
thread.start()
thread.join()
sys.stdin.readline()
"""


def test_every_event_is_counted_or_is_said_not_to_be() -> None:
    found = available()
    reported = f"{found.refused} {found.lacks}"
    for event in EVENTS:
        assert (event.name in found.events) != (event.name in reported), event.name


@needs_page_faults
def test_what_is_started_later_is_counted_too_while_it_runs_and_when_it_ended() -> None:
    """A thread that comes starts a process that comes; it touches memory."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER, _TOUCH, str(PAGES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def say() -> None:
            assert server.stdin is not None
            server.stdin.write("\n")
            server.stdin.flush()

        assert server.stdout.readline() == "up\n"
        with PerfCounters(server.pid) as probe:
            before = probe.read()["perf.page_faults"]
            say()
            assert server.stdout.readline() == "touched\n"
            running = probe.read()["perf.page_faults"]
            say()
            faults = int(server.stdout.readline())
            ended = probe.read()["perf.page_faults"]
            say()
            server.wait()
            gone = probe.read()["perf.page_faults"]
        assert probe.read() == {}
    assert running - before >= PAGES
    assert ended - before >= faults >= PAGES
    # Besides, the server itself and the forked one before it became another program.
    assert ended - before < faults + 2000
    assert gone >= ended


@needs_page_faults
def test_nothing_of_others_is_counted() -> None:
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as idle,
        PerfCounters(idle.pid) as probe,
    ):
        touched = [sys.executable, "-c", _TOUCH, str(PAGES)]
        subprocess.run(touched, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        # Its own start may be in it.
        assert probe.read()["perf.page_faults"] < PAGES
        idle.communicate(b"\n")


@needs_hardware
def test_instructions_of_a_loop_are_counted() -> None:
    with PerfCounters(os.getpid()) as probe:
        before = probe.read()
        sum(range(1_000_000))
        after = probe.read()
    grown = {name: after[name] - value for name, value in before.items()}
    assert grown["perf.instructions"] > 5_000_000
    assert grown["perf.instructions"] > grown["perf.branches"] > grown["perf.branch_misses"]


def test_a_process_that_is_gone_counts_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    with PerfCounters(gone.pid) as probe:
        assert probe.read() == {}


def test_counts_are_scaled_by_the_time_they_were_counted() -> None:
    assert perf_counters._scaled(100, 1000, 1000) == 100
    assert perf_counters._scaled(100, 1000, 250) == 400
    assert perf_counters._scaled(0, 1000, 0) == 0
