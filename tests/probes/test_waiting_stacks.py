"""Stacks of waiting threads by the real eu-stack, where it is and may."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.probes.base import ProfileError
from pipeline.probes.waiting_stacks import WaitingStacks

_PROGRAM = """
import subprocess, sys, threading
child = subprocess.Popen(["sleep", "60"])
threading.Thread(target=threading.Event().wait, daemon=True).start()
threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
print("up", flush=True)
sys.stdin.readline()
child.kill()
child.wait()
"""


@contextmanager
def program() -> Iterator[int]:
    """Run a program with a busy thread, a waiting one and a waiting child; return its id."""
    command = [sys.executable, "-c", _PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"up\n"
        yield running.pid
        running.communicate(b"\n")


def test_threads_that_wait_are_seen_with_what_they_wait_in() -> None:
    if shutil.which("eu-stack") is None:
        pytest.skip("eu-stack is not installed")
    with program() as pid:
        with WaitingStacks(pid, period=0.05) as waits:
            waits.begin()
            waits.begin()  # Of no effect.
            deadline = time.monotonic() + 60
            while waits._seen.total() < 20 and time.monotonic() < deadline:
                time.sleep(0.05)
        stacks = waits.stacks()
    assert any(stack.startswith("sleep;") and "nanosleep" in stack for stack in stacks)
    assert any("futex" in stack or "sem_" in stack or "lock" in stack for stack in stacks)
    assert not any(stack.endswith("list_iter") for stack in stacks)


def test_a_missing_eu_stack_is_one_line_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with WaitingStacks(1, period=0.01) as waits:
        waits.begin()
        time.sleep(0.05)
    with pytest.raises(ProfileError, match=r"eu-stack is not installed .*elfutils"):
        waits.stacks()


def test_a_refused_eu_stack_is_one_line_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "eu-stack"
    tool.write_text("#!/bin/sh\necho 'eu-stack: Operation not permitted' >&2\nexit 2\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as idle:
        with WaitingStacks(idle.pid, period=0.01) as waits:
            waits.begin()
            deadline = time.monotonic() + 60
            while "permitted" not in waits._problem and time.monotonic() < deadline:
                time.sleep(0.01)
        idle.communicate(b"\n")
    with pytest.raises(ProfileError, match="Operation not permitted"):
        waits.stacks()


def test_a_step_that_did_not_begin_has_no_stacks() -> None:
    with WaitingStacks(1) as waits:
        pass
    with pytest.raises(ProfileError, match="did not begin"):
        waits.stacks()
