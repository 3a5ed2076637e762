"""Rate limits of GitHub: whether an answer reports one, and how long to wait.

Source: GitHub's documentation, "Rate limits for the REST API" and "Best practices for using the
REST API": ``retry-after`` first, then ``x-ratelimit-reset`` if nothing remains, then a minute, and
longer each time.
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pipeline.notify.github.transport import GithubResponse

_WORDS = ("rate limit", "abuse")
"""Words that distinguish a rate limit from a missing permission, because both have the status 403.
"""

_MINUTE = 60.0


def message(answer: GithubResponse) -> str:
    """Return GitHub's error message as one line."""
    text = answer.data.get("message", "") if isinstance(answer.data, dict) else ""
    return " ".join(str(text).split())


def server_time(answer: GithubResponse) -> datetime | None:
    """Return the time by GitHub's clock, if its answer contains it."""
    try:
        return parsedate_to_datetime(answer.headers["date"]).astimezone(UTC)
    except (KeyError, ValueError):
        return None


def limited(answer: GithubResponse) -> bool:
    """Whether GitHub refused a request because there were too many."""
    if answer.status == 429:
        return True
    text = message(answer).lower()
    return answer.status == 403 and (
        "retry-after" in answer.headers
        or answer.headers.get("x-ratelimit-remaining") == "0"
        or any(word in text for word in _WORDS)
    )


def pause(answer: GithubResponse, attempt: int, now: datetime) -> float:
    """Return how many seconds to wait after a refusal that follows ``attempt`` earlier ones."""
    after = _number(answer.headers.get("retry-after"))
    if after is not None:
        return after
    reset = _number(answer.headers.get("x-ratelimit-reset"))
    if answer.headers.get("x-ratelimit-remaining") == "0" and reset is not None:
        # One second more: the reset time is in whole seconds.
        return max(1.0, reset - now.timestamp() + 1.0)
    return _MINUTE * 2.0**attempt


def _number(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text is not None else None
    except ValueError:
        return None
