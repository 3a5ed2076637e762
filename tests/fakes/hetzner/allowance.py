"""Requests that a project may make in an hour, as the API counts and reports them."""

from __future__ import annotations

from collections.abc import Callable

_HOUR = 3600.0


class Allowance:
    """``limit`` requests, of which one comes back every ``3600 / limit`` seconds."""

    def __init__(self, clock: Callable[[], float], limit: int = 3600) -> None:
        self._clock, self.limit = clock, limit
        self.remaining, self._at = float(limit), clock()

    def take(self) -> bool:
        """Count a request; return whether it is one too many."""
        moment = self._clock()
        back = max(moment - self._at, 0.0) * self.limit / _HOUR
        self.remaining, self._at = min(self.remaining + back, float(self.limit)), moment
        if self.remaining < 1:
            return True
        self.remaining -= 1
        return False

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every answer about it."""
        full = self._at + (self.limit - self.remaining) * _HOUR / self.limit
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(int(self.remaining)),
            "RateLimit-Reset": str(int(full)),
        }
