"""The one error a user is meant to read, and help in wording it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user can mend: one line that says what is wrong and what to do.

    The command line prints it without a traceback and exits with code 2. Everything
    else that escapes is a bug and is shown as one.
    """


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, for putting inside a one-line message."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def meant(word: str, known: Iterable[str]) -> str:
    """Say what a misspelt word may have meant: the nearest known one, or all of them."""
    choices = list(known)
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]}?"
    return "known are " + ", ".join(choices) if choices else "there are none"
