"""Requests that Hetzner Cloud takes in an hour: slowed down before it refuses any."""

from __future__ import annotations

from typing import Any

import requests

_HOUR = 3600.0
"""Seconds in which a whole allowance comes back, little by little.

See https://docs.hetzner.cloud/reference/cloud#rate-limiting.
"""
_RESERVE = 0.05
"""Part of the allowance that is left to others who use the project, as a person or Terraform."""


class Allowance:
    """How many requests are left, as the last answer told. Nothing is known before there is one."""

    def __init__(self) -> None:
        self._limit, self._remaining = 0.0, 0.0

    def hear(self, answer: requests.Response, *_: Any, **__: Any) -> None:
        """Read the headers of an answer, as a hook of requests; one without them tells nothing."""
        try:
            limit, remaining = (
                float(answer.headers[f"RateLimit-{name}"]) for name in ("Limit", "Remaining")
            )
        except (KeyError, ValueError):
            return
        self._limit, self._remaining = limit, remaining

    @property
    def pause(self) -> float:
        """Seconds to wait before asking: none, or until as much has come back as one request is."""
        scarce = self._limit > 0 and self._remaining < self._limit * _RESERVE
        return _HOUR / self._limit if scarce else 0.0
