"""A lock between processes, as an exclusive lock on a file."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_LOG = logging.getLogger(__name__)
_POLL = 0.05
"""Seconds between two attempts to lock."""


class LockHeldError(Exception):
    """Another process holds the lock. The text names the process if it is known."""


@contextmanager
def held(
    path: Path, patience: float = math.inf, waits: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Hold the lock on a file while the block runs; the file is created and stays.

    ``patience`` is in seconds, 0 for a single attempt. ``waits`` is called once, with the name of
    the holder, before waiting for another process. The kernel releases the lock when this process
    ends, in any way. Raises LockHeldError when ``patience`` is over, and OSError if the file cannot
    be created or locked.
    """
    # Imported here, because commands that only read take less time than this import.
    from filelock import FileLock, Timeout  # noqa: PLC0415

    path.parent.mkdir(parents=True, exist_ok=True)
    # Refuse a file system without flock, where the lock would outlive a killed process.
    lock = FileLock(
        path, thread_local=False, fallback_to_soft=False, poll_interval=_POLL, on_acquired=_sign
    )
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if not patience:
                raise
            (waits or _log_wait(path))(_holder(path))
            lock.acquire(timeout=patience)
    except Timeout as error:
        raise LockHeldError(_holder(path)) from error
    try:
        yield
    finally:
        lock.release()


def lock_descriptor(descriptor: int, patience: float) -> None:
    """Lock an open file exclusively, for as long as it stays open.

    Raises LockHeldError when ``patience``, in seconds, is over.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise LockHeldError(_locker(descriptor)) from error
            time.sleep(_POLL)


def is_held(path: Path) -> bool:
    """Return whether a process holds the lock on a file, without changing anything."""
    try:
        with path.open() as file:
            # A shared lock, so that two callers do not take each other for a holder.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _sign(descriptor: int) -> None:
    """Write this process's id into the lock file, if there is space on the disk."""
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)


def _holder(path: Path) -> str:
    try:
        number = path.read_text("ascii", "replace").strip()
    except OSError:
        number = ""
    return f"process {number}" if number.isdecimal() else "another process"


def _locker(descriptor: int) -> str:
    """Return which process holds the lock on an open file, as far as the kernel shows it."""
    number = os.fstat(descriptor).st_ino
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if len(fields) > 5 and fields[1] == "FLOCK" and fields[5].endswith(f":{number}"):
                return f"process {fields[4]}"
    return "another process"


def _log_wait(path: Path) -> Callable[[str], None]:
    return lambda holder: _LOG.info("waiting for %s, which holds the lock %s", holder, path)
