"""The text of an issue: which part of it is ours, and how much of that there is room for."""

from __future__ import annotations

import re
from collections.abc import Sequence

ROOM = 65_536
"""Characters that GitHub takes of an issue or a comment."""

TITLE_ROOM = 256
"""Characters that GitHub takes of a title."""

_CUT = "\n\n*The rest is left out: GitHub takes no more than 65,536 characters.*"

_BEGIN = re.compile(r"<!-- nightshift regression ([0-9A-Za-z]+) -->")


def begin(fingerprint: str) -> str:
    """Return the hidden marker of an issue's regression, with which our part of it begins."""
    return f"<!-- nightshift regression {fingerprint} -->"


def end(fingerprint: str) -> str:
    """Return the hidden marker with which our part of an issue ends."""
    return f"<!-- nightshift end {fingerprint} -->"


def fingerprint_in(body: str | None) -> str:
    """Return which regression an issue says that it is of; empty for none."""
    found = _BEGIN.search(body or "")
    return found[1] if found else ""


def ours(fingerprint: str, body: str, room: int = ROOM) -> str:
    """Return our part of an issue, between its markers, in at most ``room`` characters."""
    inner = room - len(begin(fingerprint)) - len(end(fingerprint)) - 2
    return f"{begin(fingerprint)}\n{fit(body.strip(), inner)}\n{end(fingerprint)}"


def with_ours(present: str | None, fingerprint: str, body: str) -> str | None:
    """Return the text of an issue with our part of it brought up to date.

    What people wrote before and behind it stays. Where they took a marker away, our part is put
    at the end. None where they left no room for it.
    """
    before, after = _around(present or "", fingerprint)
    room = ROOM - len(before) - len(after)
    if room < len(begin(fingerprint)) + len(end(fingerprint)) + len(_CUT) + 2:
        return None
    return before + ours(fingerprint, body, room) + after


def _around(text: str, fingerprint: str) -> tuple[str, str]:
    """Return what others wrote before our part and behind it."""
    first, last = begin(fingerprint), end(fingerprint)
    before, found, rest = text.partition(first)
    _, closed, after = rest.partition(last)
    if found and closed:
        return before, after
    others = text.replace(first, "").replace(last, "").rstrip()
    return (f"{others}\n\n" if others else ""), ""


def title(text: str) -> str:
    """Return a title that GitHub takes."""
    text = " ".join(text.split())
    return text if len(text) <= TITLE_ROOM else text[: TITLE_ROOM - 1] + "…"


def fit(text: str, room: int) -> str:
    """Cut markdown that is too long at the end of a line, and say so."""
    if len(text) <= room:
        return text
    lines = text[: max(0, room)].rpartition("\n")[0].splitlines()
    while lines and len("\n".join([*lines, *_closing(lines)])) + len(_CUT) > room:
        lines.pop()
    return "\n".join([*lines, *_closing(lines)]) + _CUT


def _closing(lines: Sequence[str]) -> list[str]:
    """Return what closes the fences and the folds that are open at the end of lines."""
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
