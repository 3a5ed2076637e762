"""The text of a GitHub issue: which part is nightshift's, and how long it may be."""

from __future__ import annotations

import re
from collections.abc import Sequence

ROOM = 65_536
"""Maximum length of an issue or a comment on GitHub, in characters."""

TITLE_ROOM = 256
"""Maximum length of a title on GitHub, in characters."""

_CUT = "\n\n*The rest is left out: GitHub takes no more than 65,536 characters.*"

_BEGIN = re.compile(r"<!-- nightshift regression ([0-9A-Za-z]+) -->")


def begin(fingerprint: str) -> str:
    """Return the hidden marker with which nightshift's part of an issue begins."""
    return f"<!-- nightshift regression {fingerprint} -->"


def end(fingerprint: str) -> str:
    """Return the hidden marker with which nightshift's part of an issue ends."""
    return f"<!-- nightshift end {fingerprint} -->"


def fingerprint_in(body: str | None) -> str:
    """Return the fingerprint of the regression in an issue's text; empty without one."""
    found = _BEGIN.search(body or "")
    return found[1] if found else ""


def ours(fingerprint: str, body: str, room: int = ROOM) -> str:
    """Return nightshift's part of an issue's text, in at most ``room`` characters."""
    inner = room - len(begin(fingerprint)) - len(end(fingerprint)) - 2
    return f"{begin(fingerprint)}\n{fit(body.strip(), inner)}\n{end(fingerprint)}"


def with_ours(present: str | None, fingerprint: str, body: str) -> str | None:
    """Return an issue's text with nightshift's part replaced.

    Text that people wrote before and after nightshift's part is kept. If they removed a marker, our
    part is appended. The result is None if their text leaves no room.
    """
    before, after = _around(present or "", fingerprint)
    room = ROOM - len(before) - len(after)
    if room < len(begin(fingerprint)) + len(end(fingerprint)) + len(_CUT) + 2:
        return None
    return before + ours(fingerprint, body, room) + after


def _around(text: str, fingerprint: str) -> tuple[str, str]:
    """Return the text that other people wrote before and after nightshift's part."""
    first, last = begin(fingerprint), end(fingerprint)
    before, found, rest = text.partition(first)
    _, closed, after = rest.partition(last)
    if found and closed:
        return before, after
    others = text.replace(first, "").replace(last, "").rstrip()
    return (f"{others}\n\n" if others else ""), ""


def title(text: str) -> str:
    """Return an issue's title in a form that GitHub accepts."""
    text = " ".join(text.split())
    return text if len(text) <= TITLE_ROOM else text[: TITLE_ROOM - 1] + "…"


def fit(text: str, room: int) -> str:
    """Shorten markdown that is too long for GitHub, with a note at its end."""
    if len(text) <= room:
        return text
    lines = text[: max(0, room)].rpartition("\n")[0].splitlines()
    while lines and len("\n".join([*lines, *_closing(lines)])) + len(_CUT) > room:
        lines.pop()
    return "\n".join([*lines, *_closing(lines)]) + _CUT


def _closing(lines: Sequence[str]) -> list[str]:
    """Return the lines that close code blocks and ``<details>`` sections still open at a cut."""
    fence, folds = "", 0
    for line in lines:
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if fence:
            if mark and mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            folds += line.count("<details") - line.count("</details>")
    return [*([fence] if fence else []), *["", "</details>"] * max(0, folds)]
