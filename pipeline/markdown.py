"""Text from elsewhere inside markdown: it reads as itself, and does nothing.

Commit messages, names of steps, settings and whatever a branch of a stranger brings end up in
issues, comments and job summaries. There text can do more than be read: mention people, refer to
issues and close them, link, hide in comments, and give commands to bots and to the runner that
shows it. Backslashes and entities are gone before GitHub looks for mentions and references, so that
those are broken by a space without width.
"""

from __future__ import annotations

import re

BREAK = "\u200b"
"""A space without width, inside of what would be more than text."""

LONGEST = 500
"""Characters of a text that are shown: what is longer was not written to be read here."""

_ACTS = re.compile(
    r"""
    (?<=@)(?=\S)                       # mentions; addresses for mail
    | (?<=\#)(?=\d)                    # references to issues, also of other repositories
    | (?i:(?<=\bgh-)(?=\d))
    | (?<=:)(?=//)                     # links
    | (?i:(?<=\bwww)(?=\.))
    | (?i:(?<=\bmailto:)(?=\S))
    | (?i:(?<=\bxmpp:)(?=\S))
    """,
    re.VERBOSE,
)
# Comments, as those that issues are known again by; commands to the runner of a workflow, which
# are such anywhere in a line, or at its beginning.
_ACTS_IN_CODE = re.compile(r"(?<=<)(?=!)|(?<=##)(?=\[)")
_COMMAND = re.compile(r"^\s*:(?=:)")
_MARKS = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
_BEGINNING = re.compile(r"^(?:[-+](?=[\s-]|$)|[>=#/]|\d{1,9}(?=[.)](?:\s|$)))")
_TICKS = re.compile("`+")


def inert(text: str) -> str:
    """Return ``text`` as one line of plain text that is only read, as for a title or a chat.

    Characters that are not seen, as those that turn the direction of writing, are left out, and
    what is too long is cut.
    """
    line = _line(text)
    if len(line) > LONGEST:
        line = f"{line[: LONGEST - 1]}…"
    return _ACTS.sub(BREAK, _inactive(line))


def cell(text: str) -> str:
    """Return ``text`` so that it reads as itself within a line or a table, whatever it holds."""
    escaped = inert(text).replace("&", "&amp;").replace("<", "&lt;")
    escaped = _MARKS.sub(r"\\\g<0>", escaped)
    return _BEGINNING.sub(_escape_beginning, escaped)


def code(text: str, *, table: bool = False) -> str:
    """Return ``text`` as code within a line, or within a line of a ``table``."""
    line = _inactive(_line(text))
    if not line:
        return ""
    if table:
        # Of two backslashes before it a table takes the first for what escapes the second.
        line = line.replace("\\|", f"\\{BREAK}|").replace("|", "\\|")
    fence = "`" * (_longest(line) + 1)
    room = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{room}{line}{room}{fence}"


def fenced(text: str, language: str = "") -> str:
    """Return ``text`` as a block of code that nothing in it can end."""
    lines = (_shown(line, keep="\t") for line in text.splitlines())
    body = "\n".join(_inactive(line) for line in lines)
    fence = "`" * max(3, _longest(body) + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def linked(markdown: str, address: str) -> str:
    """Return what is markdown already as a link; as it is, where there is no ``address``.

    The address is ours: of a configuration, or made from what was checked.
    """
    return f"[{markdown}](<{address}>)" if address else markdown


def _inactive(line: str) -> str:
    """Break what acts even in code, or as plain text in a log."""
    return _COMMAND.sub(rf"\g<0>{BREAK}", _ACTS_IN_CODE.sub(BREAK, line))


def _line(text: str) -> str:
    return " ".join(_shown(text).split())


def _shown(text: str, keep: str = "") -> str:
    """Put spaces where white space is and leave out what is not seen."""
    spaced = (" " if each.isspace() and each not in keep else each for each in text)
    return "".join(each for each in spaced if each in keep or each.isprintable())


def _longest(text: str) -> int:
    return max((len(ticks) for ticks in _TICKS.findall(text)), default=0)


def _escape_beginning(found: re.Match[str]) -> str:
    begun = found[0]
    return f"{begun}\\" if begun[0].isdigit() else f"\\{begun}"
