"""What the fingerprint and the checks ask: the kernel's files, programs, the clock, the storage."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pipeline.machine.tree import Tree

PATIENCE = 30.0
"""Seconds in which a program has to answer: one that hangs holds up no night."""

_TIME_ERROR = 5
"""What adjtimex(2) returns for a clock that nothing synchronises."""


class Space(NamedTuple):
    """Room of a file system: bytes that we may write, bytes in all, and inodes that are free.

    A file system that makes inodes as it needs them has None.
    """

    free: int
    total: int
    inodes: int | None


def said(argv: Sequence[str]) -> str:
    """Return what a program prints on standard output; empty if it is not here, or hangs.

    What it exits with is not looked at: programs that ask a question answer with that, too.
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
    """Return the room under a folder, or under the nearest of its parents that is there."""
    for place in (folder, *folder.parents):
        try:
            told = os.statvfs(place)
        except OSError:
            continue
        inodes = told.f_favail if told.f_files else None
        return Space(told.f_bavail * told.f_frsize, told.f_blocks * told.f_frsize, inodes)
    return None


def synchronised() -> bool | None:
    """Say whether the kernel's clock is kept right by something; None if it cannot be asked."""
    try:
        adjtimex = ctypes.CDLL(None).adjtimex
    except (OSError, AttributeError):
        return None
    # All zero, it only asks. The structure has 208 bytes on 64-bit machines.
    state = int(adjtimex(ctypes.create_string_buffer(256)))
    return None if state < 0 else state != _TIME_ERROR


@dataclass(frozen=True)
class System:
    """A machine to look at: this one, or one made of files.

    ``folder`` is where databases are. ``interval`` are the seconds between two readings of what
    is counted over time.
    """

    tree: Tree = field(default_factory=Tree)
    folder: Path = Path()
    interval: float = 0.25
    said: Callable[[Sequence[str]], str] = said
    space: Callable[[Path], Space | None] = space
    synchronised: Callable[[], bool | None] = synchronised
    sleep: Callable[[float], None] = time.sleep
