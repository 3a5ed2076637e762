"""What servers of MySQL's family say when they give up."""

from __future__ import annotations

import re

_ERROR = re.compile(r"\[ERROR\] (?:\[MY-\d+\] )?(?:\[\w+\] )?|ERROR: ")


def complaint(text: str) -> str:
    """Return the line that tells why a server gave up.

    It is the first error: those after it, up to ``Aborting``, follow from it.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if found := _ERROR.search(line):
            return line[found.end() :].strip()
    return lines[-1] if lines else ""
