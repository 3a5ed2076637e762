"""The runs that are left, with further attempts at those that the harness failed."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from pipeline.measure.harness import ATTEMPTS, BROKEN, HarnessError
from pipeline.measure.progress import Watcher
from pipeline.model import Cell

Run = tuple[Cell, int]
"""A cell and the number of its repetition."""


class Attempts:
    """A queue of runs. A run that ends with a harness error waits behind the others for another."""

    def __init__(self, runs: Iterable[Run], watcher: Watcher) -> None:
        """Begin with ``runs``, in order; ``watcher`` is notified of each error."""
        self._waiting = deque(runs)
        self._watcher = watcher
        self._tried = Counter[str]()
        self._in_a_row = 0
        self.failures: dict[str, str] = {}
        """Why runs have no bundle, by their names."""

    @property
    def left(self) -> int:
        """The number of waiting runs."""
        return len(self._waiting)

    def take(self) -> Run | None:
        """Return the next run; None if none is left, or after too many errors in a row."""
        if not self._waiting or self._in_a_row >= BROKEN:
            return None
        return self._waiting.popleft()

    def failed(self, run: Run, error: HarnessError) -> None:
        """Record a harness error, and queue the run again unless it was tried often enough."""
        cell, repetition = run
        name = cell.run_id(repetition)
        self.failures[name] = str(error)
        self._tried[name] += 1
        self._in_a_row += 1
        self._watcher.note(f"{name}: harness error: {error}")
        if self._tried[name] < ATTEMPTS:
            self._waiting.append(run)

    def ended(self, run: Run) -> None:
        """Record that a run has its bundle."""
        cell, repetition = run
        self._in_a_row = 0
        self.failures.pop(cell.run_id(repetition), None)
