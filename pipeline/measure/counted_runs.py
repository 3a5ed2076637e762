"""Execute counted runs several at once, because other programs do not change a count."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import psutil

from pipeline.measure.attempts import Attempts, Run
from pipeline.measure.harness import HarnessError
from pipeline.model import Cell, Pinning

MOST_AT_ONCE = 8
"""Maximum number of parallel counted runs; each has a server of its own in memory."""


def count_all(
    attempts: Attempts,
    processors: Sequence[int],
    measure: Callable[[Cell, int, Pinning], Path],
    on_bundle: Callable[[Cell, int, Path], None],
) -> None:
    """Execute counted runs, one per processor, and report every bundle in this thread.

    If this thread is interrupted, the processes of the runs are killed, so that they end at once.
    """
    free = deque(processors[:MOST_AT_ONCE])
    running: dict[Future[Path], tuple[Run, int]] = {}
    with ThreadPoolExecutor(len(free)) as workers:
        try:
            while True:
                while free and (run := attempts.take()) is not None:
                    processor = free.popleft()
                    ran = workers.submit(measure, *run, _pinned(processor))
                    running[ran] = run, processor
                if not running:
                    return
                for ended in wait(running, return_when=FIRST_COMPLETED).done:
                    run, processor = running.pop(ended)
                    free.append(processor)
                    try:
                        path = ended.result()
                    except HarnessError as error:
                        attempts.failed(run, error)
                    else:
                        attempts.ended(run)
                        on_bundle(*run, path)
        except BaseException:
            for ran in running:
                ran.cancel()
            _kill_children()
            raise


def _pinned(processor: int) -> Pinning:
    """Return a placement with server and client on the same processor, where they take turns."""
    return Pinning(server=(processor,), client=(processor,), harness=())


def _kill_children() -> None:
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
