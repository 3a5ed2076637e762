"""Show how far a long comparison of programs is, and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

EVERY = 10.0
"""Seconds between two lines of progress."""

ENOUGH = 100
"""Calls of an engine after which its measured pace replaces the first guess."""


class Progress:
    """Counts how often compared programs were called, and estimates the time left.

    planned: the expected calls of each engine. guess: seconds per call.
    """

    def __init__(self, planned: Mapping[str, int], guess: Mapping[str, float]) -> None:
        self._left = dict(planned)
        self._made = dict.fromkeys(planned, 0)
        self._spent = dict.fromkeys(planned, 0.0)
        self._guess = guess
        self._last = self._printed_at = time.monotonic()

    def called(self, engine: str, doing: str) -> None:
        """Count one call of an engine; report the progress now and then."""
        now = time.monotonic()
        self._left[engine] = max(self._left[engine] - 1, 0)
        self._made[engine] += 1
        self._spent[engine] += now - self._last
        self._last = now
        if now - self._printed_at >= EVERY:
            self._printed_at = now
            sys.stderr.write(f"{doing}: about {self.seconds_left() / 60.0:.0f} min left\n")
            sys.stderr.flush()

    def settle(self, engine: str, left: int) -> None:
        """Correct how many calls of a program are still to come.

        The time since its last call was spent on something else and does not count for its pace.
        """
        self._left[engine] = left
        self._last = time.monotonic()

    def seconds_left(self) -> float:
        """The expected seconds until the comparison ends."""
        return sum(calls * self._pace(engine) for engine, calls in self._left.items())

    def _pace(self, engine: str) -> float:
        if self._made[engine] < ENOUGH:
            return self._guess[engine]
        return self._spent[engine] / self._made[engine]
