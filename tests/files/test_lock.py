"""The lock between processes: one at a time, named, released by the kernel."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pipeline.files.lock import LockHeldError, held, is_held

KILLED = """
import os, sys
from pathlib import Path
from pipeline.files.lock import held

with held(Path(sys.argv[1])):
    os.kill(os.getpid(), 9)
"""


def test_the_holder_is_named(tmp_path: Path) -> None:
    lock = tmp_path / "folder" / ".lock"
    with (
        held(lock),
        pytest.raises(LockHeldError, match=f"^process {os.getpid()}$"),
        held(lock, patience=0),
    ):
        pass
    with held(lock, patience=0):
        pass


def test_patience_ends(tmp_path: Path) -> None:
    waited = list[str]()
    with (
        held(tmp_path / ".lock"),
        pytest.raises(LockHeldError),
        held(tmp_path / ".lock", 0.1, waited.append),
    ):
        pass
    assert waited == [f"process {os.getpid()}"]


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    waits, order = threading.Event(), list[str]()

    def second() -> None:
        with held(tmp_path / ".lock", waits=lambda _: waits.set()):
            order.append("second")

    waiting = threading.Thread(target=second)
    with held(tmp_path / ".lock"):
        waiting.start()
        assert waits.wait(30)
        order.append("first")
    waiting.join(30)
    assert order == ["first", "second"]


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    ran = subprocess.run([sys.executable, "-c", KILLED, str(lock)], check=False)
    assert ran.returncode == -9
    assert not is_held(lock)
    with held(lock, patience=0):
        assert lock.read_text() == str(os.getpid())


def test_an_error_inside_releases_it(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with pytest.raises(AssertionError, match="inside"), held(lock):
        assert not is_held(lock), "inside"
    assert not is_held(lock)


def test_who_looks_writes_nothing(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "missing" / ".lock")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError), held(tmp_path / "file" / ".lock"):
        pass


def test_the_same_thread_is_never_left_waiting_for_itself(tmp_path: Path) -> None:
    with (
        held(tmp_path / ".lock"),
        pytest.raises(RuntimeError, match="Deadlock"),
        held(tmp_path / ".lock"),
    ):
        pass
