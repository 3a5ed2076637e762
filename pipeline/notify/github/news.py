"""What is said in comments: that a culprit was found, that it is gone, that it is back.

Every comment has a hidden marker, by which it is known whether it was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pipeline.markdown import code
from pipeline.model import Culprit
from pipeline.notify.base import Notice
from pipeline.notify.github.answers import Comment
from pipeline.notify.github.text import fit

_MARKER = re.compile(r"<!-- nightshift (resolved \d+|back \d+|culprit \S+) [0-9A-Za-z]+ -->")

_ROOM = 4000
"""Characters of a comment: who wants to know more reads the issue."""


class News(NamedTuple):
    """A comment and the key that it is known by."""

    key: str
    text: str


def resolved(notice: Notice, time: int, stays: str) -> News:
    """Say that a regression is gone, the ``time``-th time; ``stays`` is why it is left open."""
    end = (
        f"This stays open, because {stays}: close it when it is done with."
        if stays
        else "Closed by what was measured. If it comes back, this is opened again."
    )
    said = "It is gone, by measurement: the newest revisions are as good as those before it."
    return _news(notice, f"resolved {time}", said, verdict(notice), end)


def back(notice: Notice, time: int, *, opened: bool) -> News:
    """Say that what was gone for the ``time``-th time is there again."""
    end = "Opened again." if opened else "This is left as it is: people have decided about it."
    return _news(notice, f"back {time}", "It is there again.", verdict(notice), end)


def culprit_found(notice: Notice, culprit: Culprit) -> News:
    """Say which commit is to blame."""
    said = f"The culprit was found: {code(culprit.revision)}. Its parent {code(culprit.parent)} "
    others = f" {len(culprit.between)} more, not measured, may be it, too." * bool(culprit.between)
    return _news(
        notice, culprit_key(culprit), f"{said}is good.{others} The issue has it with the evidence."
    )


def culprit_key(culprit: Culprit) -> str:
    """Return what a culprit's comment is known by."""
    return f"culprit {re.sub(r'[^0-9A-Za-z._]', '-', culprit.revision).replace('--', '-.')}"


def is_culprit(key: str) -> bool:
    """Say whether news are of a culprit, and not that something is gone or back."""
    return key.startswith("culprit ")


def verdict(notice: Notice) -> str:
    """Return the first paragraph of what is told, which is the verdict."""
    return notice.body.strip().partition("\n\n")[0]


def key_of(comment: Comment) -> str:
    """Return which news a comment is; empty where it is none."""
    found = _MARKER.match(comment.body or "")
    return found[1] if found else ""


def is_said(key: str, comments: Iterable[Comment]) -> bool:
    """Say whether news are among comments."""
    return any(key_of(comment) == key for comment in comments)


def _news(notice: Notice, key: str, *said: str) -> News:
    text = "\n\n".join(part for part in said if part)
    return News(key, fit(f"<!-- nightshift {key} {notice.fingerprint} -->\n{text}", _ROOM))
