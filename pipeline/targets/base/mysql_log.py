"""Find out why a MySQL or MariaDB server failed to start, from its log."""

from __future__ import annotations

import re

_ERROR = re.compile(r"\[ERROR\] (?:\[MY-\d+\] )?(?:\[\w+\] )?|ERROR: ")


def first_error(text: str) -> str:
    """Return the line of a server's log that says why the server failed to start.

    This is the first error: later errors, up to ``Aborting``, are its consequences. A log without
    an error yields its last line.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if found := _ERROR.search(line):
            return line[found.end() :].strip()
    return lines[-1] if lines else ""
