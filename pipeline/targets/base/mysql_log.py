"""The reason of a failed start, from the log of a MySQL or MariaDB server."""

from __future__ import annotations

import re

_ERROR = re.compile(r"\[ERROR\] (?:\[MY-\d+\] )?(?:\[\w+\] )?|ERROR: ")


def first_error(text: str) -> str:
    """Return the line of a log that says why a server gave up.

    It is the first error: those after it, up to ``Aborting``, are its consequences.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if found := _ERROR.search(line):
            return line[found.end() :].strip()
    return lines[-1] if lines else ""
