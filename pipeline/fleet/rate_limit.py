"""Slow down before Hetzner Cloud refuses requests because there are too many."""

from __future__ import annotations

from typing import Any

import requests

_HOUR = 3600.0
"""Seconds in which an empty allowance refills, at a constant rate.

See https://docs.hetzner.cloud/reference/cloud#rate-limiting.
"""
_RESERVE = 0.05
"""The share of the allowance reserved for other users of the project: people, Terraform."""


class Allowance:
    """How many requests Hetzner Cloud still accepts, as the last response said."""

    def __init__(self) -> None:
        self._limit, self._remaining = 0.0, 0.0

    def hear(self, answer: requests.Response, *_: Any, **__: Any) -> None:
        """Read from the headers of a response how many requests are left."""
        try:
            limit, remaining = (
                float(answer.headers[f"RateLimit-{name}"]) for name in ("Limit", "Remaining")
            )
        except (KeyError, ValueError):
            return
        self._limit, self._remaining = limit, remaining

    @property
    def pause(self) -> float:
        """Return how many seconds to wait before the next request."""
        scarce = self._limit > 0 and self._remaining < self._limit * _RESERVE
        return _HOUR / self._limit if scarce else 0.0
