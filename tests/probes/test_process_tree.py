"""What a process tree used, on machines of files: times in ticks of 10 ms."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pipeline.machine.counters import clock_ticks
from pipeline.probes.processes import ProcessTree
from tests.machine.disturbance.trees import process, put

SERVER = 200
TICK_US = 1e6 / clock_ticks()


class Machine:
    """Files of processes, of which some begin and others end."""

    def __init__(self, root: Path, files: Mapping[str, str]) -> None:
        self._root = root
        self.probe = ProcessTree("server", SERVER, put(root, files))

    def ticks(self, files: Mapping[str, str] | None = None, gone: tuple[int, ...] = ()) -> float:
        """Change the files, and return the processor time that the probe reads then."""
        put(self._root, files or {})
        for pid in gone:
            (self._root / f"proc/{pid}/stat").unlink()
        return self.probe.read()["server.cpu_us"] / TICK_US


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(
        tmp_path,
        {
            **process(1, "init", 0),
            **process(SERVER, "postgres", own=100, reaped=50),
            **process(201, "backend", SERVER, own=1000),
            **process(300, "other", own=77),
        },
    )


def test_a_tree_is_its_processes_and_what_they_inherited(machine: Machine) -> None:
    assert machine.ticks() == 1150


def test_what_lived_and_ended_between_two_readings_is_inherited(machine: Machine) -> None:
    machine.ticks()
    assert machine.ticks(process(SERVER, "postgres", own=100, reaped=450)) == 1550


def test_what_a_process_used_after_its_last_reading_is_inherited(machine: Machine) -> None:
    machine.ticks()
    after = process(SERVER, "postgres", own=100, reaped=50 + 1700)
    assert machine.ticks(after, gone=(201,)) == 1850


def test_what_the_kernel_rounds_down_does_not_take_the_counter_back(machine: Machine) -> None:
    machine.ticks()
    after = process(SERVER, "postgres", own=100, reaped=50 + 998)
    assert machine.ticks(after, gone=(201,)) == 1150


def test_time_that_was_given_to_nobody_makes_the_counter_unknown(machine: Machine) -> None:
    """A server that ignores the end of its children: the kernel forgets them."""
    machine.ticks()
    with pytest.raises(KeyError):
        machine.ticks(process(SERVER, "postgres", own=9000, reaped=50), gone=(201,))
    assert "server.cs" in machine.probe.read()
    with pytest.raises(KeyError):
        machine.ticks(process(SERVER, "postgres", own=9500, reaped=60))


def test_time_that_is_given_late_makes_it_unknown_until_then(machine: Machine) -> None:
    machine.ticks()
    with pytest.raises(KeyError):
        machine.ticks(gone=(201,))
    assert machine.ticks(process(SERVER, "postgres", own=100, reaped=1050)) == 1150


def test_time_passes_through_a_process_that_ended_too(machine: Machine) -> None:
    machine.ticks(process(202, "child", 201, own=30))
    after = process(201, "backend", SERVER, own=1000, reaped=31)
    assert machine.ticks(after, gone=(202,)) == 1181
    assert machine.ticks(process(SERVER, "postgres", own=100, reaped=1081), gone=(201,)) == 1181


def test_a_process_that_left_its_parent_stays_in_the_tree(machine: Machine) -> None:
    machine.ticks(process(202, "child", 201, own=30))
    after = {
        **process(SERVER, "postgres", own=100, reaped=1050),
        **process(202, "child", 1, own=40),
    }
    assert machine.ticks(after, gone=(201,)) == 1190
    # Its time is init's now.
    with pytest.raises(KeyError):
        machine.ticks(gone=(202,))


def test_of_a_server_that_ended_nothing_is_reported(tmp_path: Path, machine: Machine) -> None:
    machine.ticks()
    put(tmp_path, process(SERVER, "postgres", own=100, reaped=50, state="Z"))
    assert machine.probe.read() == {}
    (tmp_path / f"proc/{SERVER}/stat").unlink()
    assert machine.probe.read() == {}


def test_a_server_that_was_never_there_has_no_figures(tmp_path: Path) -> None:
    assert ProcessTree("server", SERVER, put(tmp_path, process(1, "init", 0))).read() == {}


def test_a_thread_is_counted_exactly_and_one_that_ended_in_ticks(tmp_path: Path) -> None:
    machine = Machine(tmp_path, process(SERVER, "mysqld", own=5))
    threads = {
        f"/proc/{SERVER}/task/{number}/{name}": text
        for number in (SERVER, 201)
        for name, text in (
            ("schedstat", "28400000 0 1"),
            ("status", "voluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t1"),
        )
    }
    assert machine.ticks(threads) == pytest.approx(56_800 / TICK_US)
    assert machine.probe.read()["server.cs"] == 8
    # A third one ended unseen: the account of the process has it.
    assert machine.ticks(process(SERVER, "mysqld", own=25)) == 25
