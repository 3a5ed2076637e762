"""How long is waited for others, and how often they are asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pipeline.errors import UserError

_Answer = TypeVar("_Answer")

_FIRST, _LONGEST = 1.0, 30.0
"""Seconds before asking for the second time, doubled from time to time up to the second."""


class Passing(Exception):
    """Something that may pass: says in a line what."""


@dataclass(frozen=True)
class Pace:
    """How others are waited for. ``patience`` and what ``clock`` tells are seconds.

    ``tell`` is given a line when something does not go at once.
    """

    patience: float
    tell: Callable[[str], None] = lambda text: None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def persist(self, attempt: Callable[[], _Answer], longest: float = _LONGEST) -> _Answer:
        """Attempt something until it no longer raises Passing, with at most ``longest`` between.

        Raises UserError once the patience is over, and whatever else the attempt raises.
        """
        until, wait, told = self.clock() + self.patience, _FIRST, ""
        while True:
            try:
                return attempt()
            except Passing as passing:
                said = str(passing)
                if self.clock() + wait > until:
                    raise UserError(
                        f"{said}; that did not pass in {self.patience:.0f} s, try again later"
                    ) from passing
            if said != told:
                self.tell(f"{said}; trying again")
            told = said
            self.sleep(wait)
            wait = min(2 * wait, longest)
