"""Find out why a MySQL or MariaDB server failed to start, from its log."""

from __future__ import annotations

import re

_ERROR = re.compile(r"\[ERROR\] (?:\[MY-\d+\] )?(?:\[\w+\] )?|ERROR: ")


def first_error(text: str) -> str:
    """Return the first line of a server's log that says why the server gave up.

    It is the first error: those after it, up to ``Aborting``, are its consequences.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if found := _ERROR.search(line):
            return line[found.end() :].strip()
    return lines[-1] if lines else ""
