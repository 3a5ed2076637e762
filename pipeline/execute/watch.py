"""What the long stages tell whoever watches them."""

from __future__ import annotations

from typing import Protocol

from pipeline.model import Cell, Step


class Watcher(Protocol):
    """Told of the progress of a night. The command line shows it; tests record it."""

    def begin(self, stage: str, total: float) -> None:
        """A stage begins; ``total`` is its size in seconds or in things."""
        ...

    def note(self, text: str) -> None:
        """Say one line."""
        ...

    def run_begins(self, cell: Cell, repetition: int) -> None:
        """One execution of a cell begins."""
        ...

    def step_begins(self, step: Step) -> None:
        """One step of it begins."""
        ...

    def advance(self, amount: float, left: float | None = None) -> None:
        """So much of the stage is done; what is left is as was said at first, or ``left``."""
        ...

    def end(self) -> None:
        """The stage is over."""
        ...


class Silent:
    """Watches without a word."""

    def begin(self, stage: str, total: float) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def run_begins(self, cell: Cell, repetition: int) -> None:
        """Say nothing."""

    def step_begins(self, step: Step) -> None:
        """Say nothing."""

    def advance(self, amount: float, left: float | None = None) -> None:
        """Say nothing."""

    def end(self) -> None:
        """Say nothing."""
