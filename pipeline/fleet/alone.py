"""One process at a time makes servers, so that no two of them pass a budget together."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pipeline.errors import UserError
from pipeline.fleet.pace import Pace, Passing

FILE = ".fleet.lock"
"""Its name in the results folder, beside the record of servers that budgets are reckoned from."""


@contextmanager
def alone(results: Path, pace: Pace) -> Iterator[None]:
    """Be the only one that makes servers by this record; another one is waited for.

    The system lets go of the lock when a process ends, however it does. Raises UserError where the
    other takes longer than the patience, and where the folder cannot be written.
    """
    try:
        results.mkdir(parents=True, exist_ok=True)
        lock = (results / FILE).open("a+")
    except OSError as error:
        raise UserError(
            f"{error.filename} cannot be written ({error.strerror}), and no server is made that "
            "cannot be noted there; mend it, or set paths.results"
        ) from error
    with lock:
        pace.persist(lambda: _take(lock))
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def _take(lock: IO[str]) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.seek(0)
        raise Passing(
            f"another nightshift (process {lock.read().strip() or 'unknown'}) is making servers"
        ) from error
