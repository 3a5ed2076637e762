"""The interface through which long stages report their progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipeline.model import Cell, Step


class Watcher:
    """Receives the progress of a night. This base class shows nothing; subclasses do."""

    def begin(self, stage: str, total: float) -> None:
        """Begin to show a stage; ``total`` is its expected size, in seconds or in items."""

    def note(self, text: str) -> None:
        """Show a line of text along with the progress."""

    def run_begins(self, cell: Cell, repetition: int) -> None:
        """Show that an execution of a cell begins."""

    def step_begins(self, step: Step) -> None:
        """Show that a step of the run begins."""

    def advance(self, amount: float, left: float | None = None) -> None:
        """Show that ``amount`` of the stage is done; ``left``, if given, is what remains."""

    def end(self) -> None:
        """End the display of the stage."""

    @contextmanager
    def stage(self, stage: str, total: float) -> Iterator[None]:
        """Show a stage of the night while the block runs."""
        self.begin(stage, total)
        try:
            yield
        finally:
            self.end()


class Silent(Watcher):
    """A watcher that shows no progress."""


@contextmanager
def counting(watcher: Watcher, stage: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a stage as a count of items, or show nothing if there are no items.

    Yields the function to call once for each item.
    """
    if total == 0:
        yield lambda: None
        return
    with watcher.stage(stage, total):
        yield lambda: watcher.advance(1)
