"""Retry failed requests, for a limited total time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pipeline.text.errors import UserError

_LOG = logging.getLogger(__name__)


_Answer = TypeVar("_Answer")

_FIRST, _LONGEST = 1.0, 30.0
"""First and longest delay in seconds; the delay doubles between retries."""


class TransientError(Exception):
    """A transient failure, described in one line."""


class UnreachableError(TransientError):
    """A service that does not respond at all."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long to retry; times are in seconds.

    ``note`` receives a line when a request does not succeed at once. ``unreachable`` is the
    patience with a service that does not respond at all, by default ``patience``.
    """

    patience: float
    note: Callable[[str], None] = lambda text: None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    unreachable: float | None = None

    def persist(self, attempt: Callable[[], _Answer], longest: float = _LONGEST) -> _Answer:
        """Call again while TransientError is raised, with growing delays.

        Raises UserError once the patience is over, and any other exception of the attempt.
        """
        began, wait, reported = self.clock(), _FIRST, ""
        while True:
            try:
                return attempt()
            except TransientError as passing:
                problem, patience = str(passing), self.patience
                if isinstance(passing, UnreachableError) and self.unreachable is not None:
                    patience = min(patience, self.unreachable)
                if self.clock() + wait > began + patience:
                    raise UserError(
                        f"{problem}; this lasted longer than {patience:.0f} s: try again later"
                    ) from passing
            if problem != reported:
                self.note(f"{problem}; trying again")
            reported = problem
            _LOG.info("%s; retrying in %.0f s", problem, wait)
            self.sleep(wait)
            wait = min(2 * wait, longest)
