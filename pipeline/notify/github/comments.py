"""The text of our comments on issues: culprit found, regression gone, regression back.

Every comment has a hidden marker that identifies its content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pipeline.model import Culprit
from pipeline.notify.base import Notice
from pipeline.notify.github.issue_text import fit
from pipeline.notify.github.responses import Comment
from pipeline.text.markdown import code

_MARKER = re.compile(r"<!-- nightshift (resolved \d+|back \d+|culprit \S+) [0-9A-Za-z]+ -->")

_ROOM = 4000
"""Maximum length of a comment in characters; the issue has the details."""


class KeyedComment(NamedTuple):
    """A comment on an issue, with a key that prevents writing it twice."""

    key: str
    text: str


def resolved(notice: Notice, time: int, stays: str) -> KeyedComment:
    """Return the comment that a regression is gone (for the ``time``-th time).

    If the issue stays open, ``stays`` is the reason; it is empty if the issue is closed.
    """
    end = (
        f"This issue stays open because {stays}; close it when it is finished."
        if stays
        else ("This issue is closed. If the regression returns, nightshift reopens it.")
    )
    return _news(notice, f"resolved {time}", "The regression is gone.", verdict(notice), end)


def back(notice: Notice, time: int, *, opened: bool) -> KeyedComment:
    """Return the comment that a regression is back, after it was gone ``time`` times.

    ``opened`` means that nightshift reopened the issue.
    """
    end = (
        "Opened again."
        if opened
        else "The state of this issue is unchanged, because a person decided about it."
    )
    return _news(notice, f"back {time}", "The regression is back.", verdict(notice), end)


def culprit_found(notice: Notice, culprit: Culprit) -> KeyedComment:
    """Return the comment that names the culprit."""
    paragraph = (
        f"The culprit was found: {code(culprit.revision)}. Its parent {code(culprit.parent)} "
    )
    others = (
        f" {len(culprit.between)} more commits were not measured and may be the culprit instead."
    ) * bool(culprit.between)
    return _news(
        notice, culprit_key(culprit), f"{paragraph}is good.{others} The issue shows the evidence."
    )


def culprit_key(culprit: Culprit) -> str:
    """Return the key of the comment that names a culprit."""
    return f"culprit {re.sub(r'[^0-9A-Za-z._]', '-', culprit.revision).replace('--', '-.')}"


def is_culprit(key: str) -> bool:
    """Whether a comment, by its key, names a culprit."""
    return key.startswith("culprit ")


def verdict(notice: Notice) -> str:
    """Return the first paragraph of a regression's report."""
    return notice.body.strip().partition("\n\n")[0]


def key_of(comment: Comment) -> str:
    """Return the key that is hidden in a comment; empty if there is none."""
    found = _MARKER.match(comment.body or "")
    return found[1] if found else ""


def is_said(key: str, comments: Iterable[Comment]) -> bool:
    """Whether a comment with this key is among the comments of an issue."""
    return any(key_of(comment) == key for comment in comments)


def _news(notice: Notice, key: str, *paragraphs: str) -> KeyedComment:
    text = "\n\n".join(part for part in paragraphs if part)
    return KeyedComment(key, fit(f"<!-- nightshift {key} {notice.fingerprint} -->\n{text}", _ROOM))
