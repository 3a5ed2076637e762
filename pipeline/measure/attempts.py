"""The queue of a night's runs; a run that failed through no fault of the DBMS is tried again."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from pipeline.measure.harness import ATTEMPTS, BROKEN, HarnessError
from pipeline.measure.progress import Watcher
from pipeline.model import Cell

Run = tuple[Cell, int]
"""A cell and the number of its repetition."""


class Attempts:
    """A queue of runs.

    A run that failed because of the harness goes to the end and is tried again.
    """

    def __init__(self, runs: Iterable[Run], watcher: Watcher) -> None:
        """Begin with the runs in this order; report each error to ``watcher``."""
        self._waiting = deque(runs)
        self._watcher = watcher
        self._tried = Counter[str]()
        self._in_a_row = 0
        self.failures: dict[str, str] = {}
        """Why runs have no bundle, by their names."""

    @property
    def left(self) -> int:
        """How many runs wait in the queue."""
        return len(self._waiting)

    def take(self) -> Run | None:
        """Return the next run; None if none is left, or after too many errors in a row."""
        if not self._waiting or self._in_a_row >= BROKEN:
            return None
        return self._waiting.popleft()

    def failed(self, run: Run, error: HarnessError) -> None:
        """Record an error of the harness, and queue the run again if it has tries left."""
        cell, repetition = run
        name = cell.run_id(repetition)
        self.failures[name] = str(error)
        self._tried[name] += 1
        self._in_a_row += 1
        self._watcher.note(f"{name} failed for a reason outside of the DBMS: {error}")
        if self._tried[name] < ATTEMPTS:
            self._waiting.append(run)

    def ended(self, run: Run) -> None:
        """Record that a run is complete: its bundle is written."""
        cell, repetition = run
        self._in_a_row = 0
        self.failures.pop(cell.run_id(repetition), None)
