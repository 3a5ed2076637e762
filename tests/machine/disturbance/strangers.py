"""Busy processes that have no part in a measurement."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import psutil

_ORPHAN = """
import subprocess, sys
busy = [sys.executable, "-c", "while True: pass"]
nothing = subprocess.DEVNULL
print(subprocess.Popen(busy, stdin=nothing, stdout=nothing, stderr=nothing).pid)
"""


@contextlib.contextmanager
def stranger() -> Iterator[psutil.Process]:
    """A process that is always busy, and not below this one: its parent has ended."""
    started = subprocess.run(
        [sys.executable, "-c", _ORPHAN], capture_output=True, text=True, check=True
    )
    busy = psutil.Process(int(started.stdout))
    try:
        yield busy
    finally:
        end(busy)


def end(busy: psutil.Process) -> None:
    """Let a process be gone; one that has ended is."""
    with contextlib.suppress(psutil.NoSuchProcess):
        busy.kill()
        busy.wait()
