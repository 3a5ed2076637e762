"""Progress of the long stages, and the interface of what shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipeline.model import Cell, Step


class Watcher:
    """Receives the progress of a night, and shows nothing; subclasses show or record it."""

    def begin(self, stage: str, total: float) -> None:
        """Begin a stage; ``total`` is its size in seconds or in items."""

    def note(self, text: str) -> None:
        """Show a line of text."""

    def run_begins(self, cell: Cell, repetition: int) -> None:
        """Begin an execution of a cell."""

    def step_begins(self, step: Step) -> None:
        """Begin a step of the run."""

    def advance(self, amount: float, left: float | None = None) -> None:
        """Advance the stage by ``amount``; ``left``, if given, replaces the remaining size."""

    def end(self) -> None:
        """End the stage."""

    @contextmanager
    def stage(self, stage: str, total: float) -> Iterator[None]:
        """Show a stage that ends with the block."""
        self.begin(stage, total)
        try:
            yield
        finally:
            self.end()


class Silent(Watcher):
    """A watcher that shows nothing."""


@contextmanager
def counting(watcher: Watcher, stage: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a stage that counts items; show nothing if there are none.

    Yields the function to call once for each item.
    """
    if total == 0:
        yield lambda: None
        return
    with watcher.stage(stage, total):
        yield lambda: watcher.advance(1)
