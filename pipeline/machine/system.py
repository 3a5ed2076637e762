"""What fingerprint and checks can read of a machine: kernel files, programs, clock, storage."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pipeline.machine.kernel_files import Tree

PATIENCE = 30.0
"""Seconds that a program may take to answer, so that a hanging one does not block a night."""

_TIME_ERROR = 5
"""The result of adjtimex(2) for an unsynchronised clock."""


class Space(NamedTuple):
    """How much of a file system is free: bytes, total bytes and free inodes.

    ``inodes`` is None for a file system that creates inodes on demand.
    """

    free: int
    total: int
    inodes: int | None


def program_output(argv: Sequence[str]) -> str:
    """Return what a program prints; empty if it is missing or hangs.

    The exit code is ignored: some programs use it as their answer.
    """
    try:
        answer = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=PATIENCE,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip()


def space(folder: Path) -> Space | None:
    """Return the space of the file system with a folder, or with its nearest existing parent."""
    for place in (folder, *folder.parents):
        try:
            space = os.statvfs(place)
        except OSError:
            continue
        inodes = space.f_favail if space.f_files else None
        return Space(space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize, inodes)
    return None


def synchronised() -> bool | None:
    """Return whether the clock is synchronised with the network; None if unknown."""
    try:
        adjtimex = ctypes.CDLL(None).adjtimex
    except (OSError, AttributeError):
        return None
    # A structure of zeros only queries. It has 208 bytes on 64-bit machines.
    state = int(adjtimex(ctypes.create_string_buffer(256)))
    return None if state < 0 else state != _TIME_ERROR


@dataclass(frozen=True)
class System:
    """A machine to inspect: this one, or files that describe one in tests.

    ``folder`` has the databases. ``interval`` is the seconds between two readings of counters: in
    one second, a clock tick is 1 % of a processor's time.
    """

    tree: Tree = field(default_factory=Tree)
    folder: Path = Path()
    interval: float = 1.0
    program_output: Callable[[Sequence[str]], str] = program_output
    space: Callable[[Path], Space | None] = space
    synchronised: Callable[[], bool | None] = synchronised
    sleep: Callable[[float], None] = time.sleep
