"""The error that users see as one line, and helpers for writing its text."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """An error that the user can fix: one line with what is wrong and what to do.

    The command line prints it without a traceback and exits with code 2. Any other exception is a
    bug and is shown as one.
    """


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's text."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Suggest the known word that is nearest to a misspelt one, or list all."""
    choices = list(known)
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]}?"
    return "choose one of " + ", ".join(choices) if choices else "none is available"
