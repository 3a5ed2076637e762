"""Measure how long each stage of a night takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipeline.measure.progress import Watcher
from pipeline.model import Cell, Step


class Stopwatch:
    """Measures the seconds of each stage; those of a nested stage count only for the nested one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._running: list[str] = []
        self._seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure the time of a stage while the block runs."""
        self.begin(name)
        try:
            yield
        finally:
            self.end()

    def begin(self, stage: str) -> None:
        """Begin to measure the time of a stage, until ``end``."""
        self._count()
        self._running.append(stage)

    def end(self) -> None:
        """Stop measuring the current stage, and resume the enclosing stage."""
        self._count()
        self._running.pop()

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each stage so far, in the order in which stages began."""
        self._count()
        return dict(self._seconds)

    def _count(self) -> None:
        now = self._clock()
        if self._running:
            stage = self._running[-1]
            self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._since
        self._since = now


class Timed(Watcher):
    """A watcher that measures the time of stages and passes everything on to another watcher."""

    def __init__(self, watcher: Watcher, stopwatch: Stopwatch) -> None:
        self._watcher, self._stopwatch = watcher, stopwatch

    def begin(self, stage: str, total: float) -> None:
        """Begin to measure the time of a stage, and pass the call on."""
        self._stopwatch.begin(stage)
        self._watcher.begin(stage, total)

    def note(self, text: str) -> None:
        """Pass a line of text on to the other watcher."""
        self._watcher.note(text)

    def run_begins(self, cell: Cell, repetition: int) -> None:
        """Pass the beginning of a run on to the other watcher."""
        self._watcher.run_begins(cell, repetition)

    def step_begins(self, step: Step) -> None:
        """Pass the beginning of a step on to the other watcher."""
        self._watcher.step_begins(step)

    def advance(self, amount: float, left: float | None = None) -> None:
        """Pass the progress on to the other watcher."""
        self._watcher.advance(amount, left)

    def end(self) -> None:
        """End the measurement of a stage, and pass the call on."""
        self._watcher.end()
        self._stopwatch.end()
