"""Show the progress of file transfers."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console

from pipeline.cli.console import is_quiet
from pipeline.cli.progress import Lines, make_watcher, show_left, time_left
from pipeline.measure.progress import Watcher

_PAUSE = 30.0
"""Seconds between two progress lines when the output is not a terminal."""


def transfers(console: Console) -> Watcher:
    """Return the watcher that shows a transfer: a bar on a terminal, occasional lines elsewhere."""
    return make_watcher(console) if is_quiet() or console.is_terminal else Now(console)


class Now(Lines):
    """Prints the progress of a transfer every half minute; a short transfer prints nothing."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        """Print to ``console``; ``clock`` returns the time in seconds."""
        super().__init__(console, clock)
        self._printed_at = 0.0

    def begin(self, stage: str, total: float) -> None:
        """Begin to count the bytes of a transfer."""
        super().begin(stage, total)
        self._printed_at = self._clock()

    def advance(self, amount: float, left: float | None = None) -> None:
        """Count transferred bytes; print the progress if half a minute has passed."""
        super().advance(amount, left)
        moment = self._clock()
        if moment - self._printed_at < _PAUSE:
            return
        self._printed_at = moment
        wait = time_left(self._done, self._total, moment - self._began)
        remaining = f", {show_left(wait)} left" if wait is not None else ""
        self.note(f"{self._done / 1e6:.0f} of {self._total / 1e6:.0f} MB{remaining}")
