"""What goes wrong between a program and GitHub, as tests choose it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Fault:
    """How a request goes wrong.

    ``status`` is answered with ``message`` and ``headers``; 0 cuts the connection. With ``done``
    what was asked for is done before. ``seconds`` is how long the answer takes; with ``answers``
    it is the right one all the same.
    """

    status: int = 0
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    done: bool = False
    seconds: float = 0.0
    answers: bool = False


def failing(status: int = 500, *, done: bool = False) -> Fault:
    """Answer with a status; with ``done`` although what was asked for was done."""
    return Fault(status, "Server Error", done=done)


def cut(*, done: bool = False) -> Fault:
    """Close the connection; with ``done`` after what was asked for was done."""
    return Fault(done=done)


def slow(seconds: float) -> Fault:
    """Answer late."""
    return Fault(seconds=seconds, answers=True)


def secondary_limit(retry_after: int | None = 60, *, status: int = 403) -> Fault:
    """Answer that too much was asked in a short time, with or without saying for how long."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Fault(
        status,
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        headers,
    )


def primary_limit(reset: int, *, status: int = 403) -> Fault:
    """Answer that the hour's requests are used up until ``reset`` (seconds from 1970)."""
    return Fault(
        status,
        "API rate limit exceeded for user ID 1.",
        {
            "X-RateLimit-Limit": "5000",
            "X-RateLimit-Remaining": "0",
            "X-RateLimit-Used": "5000",
            "X-RateLimit-Reset": str(reset),
        },
    )
