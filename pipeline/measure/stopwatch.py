"""The duration of each stage of a night."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipeline.measure.progress import Watcher
from pipeline.model import Cell, Step


class Stopwatch:
    """Counts the seconds of stages. Time in a nested stage counts for the inner stage only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._running: list[str] = []
        self._seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time inside the block for a stage."""
        self.begin(name)
        try:
            yield
        finally:
            self.end()

    def begin(self, stage: str) -> None:
        """Count time for a stage from now on, until its ``end``."""
        self._count()
        self._running.append(stage)

    def end(self) -> None:
        """End the current stage and continue the one around it."""
        self._count()
        self._running.pop()

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each stage so far, in the order the stages were begun."""
        self._count()
        return dict(self._seconds)

    def _count(self) -> None:
        now = self._clock()
        if self._running:
            stage = self._running[-1]
            self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._since
        self._since = now


class Timed(Watcher):
    """A watcher that forwards to another one and times the stages."""

    def __init__(self, watcher: Watcher, stopwatch: Stopwatch) -> None:
        self._watcher, self._stopwatch = watcher, stopwatch

    def begin(self, stage: str, total: float) -> None:
        """Begin to count time for the stage."""
        self._stopwatch.begin(stage)
        self._watcher.begin(stage, total)

    def note(self, text: str) -> None:
        """Forward."""
        self._watcher.note(text)

    def run_begins(self, cell: Cell, repetition: int) -> None:
        """Forward."""
        self._watcher.run_begins(cell, repetition)

    def step_begins(self, step: Step) -> None:
        """Forward."""
        self._watcher.step_begins(step)

    def advance(self, amount: float, left: float | None = None) -> None:
        """Forward."""
        self._watcher.advance(amount, left)

    def end(self) -> None:
        """End the stage and continue the one around it."""
        self._watcher.end()
        self._stopwatch.end()
