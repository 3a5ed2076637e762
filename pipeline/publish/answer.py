"""The answers of HTTP receivers, in a form that is safe to print."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import NamedTuple

LONGEST_REASON = 200
"""Maximum length of a displayed receiver message, in characters."""

_BUSY = frozenset({408, 425, 429})


class ReceiverAnswer(NamedTuple):
    """The answer of a receiver; ``status`` 0 means that there was none.

    ``retry_after`` is the delay in seconds that the receiver requests.
    """

    status: int
    words: str
    retry_after: float | None = None

    @property
    def taken(self) -> bool:
        """Whether the receiver accepted the message."""
        return self.status // 100 == 2

    @property
    def may_pass(self) -> bool:
        """Whether the same message may be accepted later."""
        return not self.status or self.status in _BUSY or self.status >= 500

    def __str__(self) -> str:
        if not self.status:
            return self.words
        try:
            phrase = f" {HTTPStatus(self.status).phrase}"
        except ValueError:
            phrase = ""
        return f"returned {self.status}{phrase}" + (f" ({self.words})" if self.words else "")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return for how many seconds a receiver asks us to wait."""
    asked = headers.get("Retry-After", "").strip()
    if asked.isdecimal():
        return float(asked)
    try:
        until = parsedate_to_datetime(asked)
        return max(0.0, (until - parsedate_to_datetime(headers["Date"])).total_seconds())
    except (KeyError, OverflowError, TypeError, ValueError):
        return None


def one_line(words: str) -> str:
    """Return a receiver's text as one short line that is safe to print."""
    line = " ".join("".join(each if each.isprintable() else " " for each in words).split())
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 3]}..."
