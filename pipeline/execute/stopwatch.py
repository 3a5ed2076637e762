"""How long the stages of a night take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipeline.execute.watch import Watcher
from pipeline.model import Cell, Step


class Stopwatch:
    """Counts the seconds of stages. A stage may stand within another: time is of the inner one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._running: list[str] = []
        self._seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what is done within as time of a stage."""
        self.begin(name)
        try:
            yield
        finally:
            self.end()

    def begin(self, stage: str) -> None:
        """Count from now on as time of a stage, until its ``end``."""
        self._count()
        self._running.append(stage)

    def end(self) -> None:
        """Go on with the stage around the one that ends."""
        self._count()
        self._running.pop()

    def seconds(self) -> dict[str, float]:
        """Return the seconds of every stage so far, in the order in which they were begun."""
        self._count()
        return dict(self._seconds)

    def _count(self) -> None:
        now = self._clock()
        if self._running:
            stage = self._running[-1]
            self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._since
        self._since = now


class Timed:
    """Passes on to another watcher what it is told, and times the stages by a stopwatch."""

    def __init__(self, watcher: Watcher, stopwatch: Stopwatch) -> None:
        self._watcher, self._stopwatch = watcher, stopwatch

    def begin(self, stage: str, total: float) -> None:
        """Count from now on as time of the stage."""
        self._stopwatch.begin(stage)
        self._watcher.begin(stage, total)

    def note(self, text: str) -> None:
        """Pass it on."""
        self._watcher.note(text)

    def run_begins(self, cell: Cell, repetition: int) -> None:
        """Pass it on."""
        self._watcher.run_begins(cell, repetition)

    def step_begins(self, step: Step) -> None:
        """Pass it on."""
        self._watcher.step_begins(step)

    def advance(self, amount: float, left: float | None = None) -> None:
        """Pass it on."""
        self._watcher.advance(amount, left)

    def end(self) -> None:
        """Go on with the stage around it."""
        self._watcher.end()
        self._stopwatch.end()
