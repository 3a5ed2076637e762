"""Escape untrusted text, so that markdown shows it as it is.

Commit messages, step names, settings and the contents of a stranger's branch end up in issues,
comments and job summaries. In those places text can mention people, refer to issues and close them,
contain links and hidden comments, and give commands to bots and to the runner that prints it.
GitHub resolves backslashes and entities before it looks for mentions and references; a zero-width
space is inserted to break these.
"""

from __future__ import annotations

import re

BREAK = "\u200b"
"""A zero-width space, inserted to break mentions, references and commands."""

LONGEST = 500
"""Maximum length of a displayed text, in characters."""

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
# Comments, such as those that identify issues; workflow commands, which act anywhere in a line or
# at its beginning.
_ACTS_IN_CODE = re.compile(r"(?<=<)(?=!)|(?<=##)(?=\[)")
_COMMAND = re.compile(r"^\s*:(?=:)")
_MARKS = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
_BEGINNING = re.compile(r"^(?:[-+](?=[\s-]|$)|[>=#/]|\d{1,9}(?=[.)](?:\s|$)))")
_TICKS = re.compile("`+")


def inert(text: str) -> str:
    """Return text as one plain line without effects (such as mentions) in a title or chat.

    Invisible characters, such as those that change the writing direction, are removed, and long
    text is cut.
    """
    line = _line(text)
    if len(line) > LONGEST:
        line = f"{line[: LONGEST - 1]}…"
    return _ACTS.sub(BREAK, _inactive(line))


def cell(text: str) -> str:
    """Return text escaped for markdown, for use in a line or a table cell."""
    escaped = inert(text).replace("&", "&amp;").replace("<", "&lt;")
    escaped = _MARKS.sub(r"\\\g<0>", escaped)
    return _BEGINNING.sub(_escape_beginning, escaped)


def code(text: str, *, table: bool = False) -> str:
    """Return text as code inside a line of markdown."""
    line = _inactive(_line(text))
    if not line:
        return ""
    if table:
        # Of two backslashes before a pipe, a table takes the first as the escape of the second.
        line = line.replace("\\|", f"\\{BREAK}|").replace("|", "\\|")
    fence = "`" * (_longest(line) + 1)
    room = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{room}{line}{room}{fence}"


def fenced(text: str, language: str = "") -> str:
    """Return text as a code block in markdown whose end the text cannot fake."""
    lines = (_shown(line, keep="\t") for line in text.splitlines())
    body = "\n".join(_inactive(line) for line in lines)
    fence = "`" * max(3, _longest(body) + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def linked(markdown: str, address: str) -> str:
    """Return markdown as the text of a link to ``address``; unchanged if that is empty.

    The address must be trusted: from the configuration, or composed of checked parts.
    """
    return f"[{markdown}](<{address}>)" if address else markdown


def _inactive(line: str) -> str:
    """Break text that has effects even inside code, such as mentions."""
    return _COMMAND.sub(rf"\g<0>{BREAK}", _ACTS_IN_CODE.sub(BREAK, line))


def _line(text: str) -> str:
    return " ".join(_shown(text).split())


def _shown(text: str, keep: str = "") -> str:
    """Replace white space by spaces and remove invisible characters, except those in ``keep``."""
    spaced = (" " if each.isspace() and each not in keep else each for each in text)
    return "".join(each for each in spaced if each in keep or each.isprintable())


def _longest(text: str) -> int:
    return max((len(ticks) for ticks in _TICKS.findall(text)), default=0)


def _escape_beginning(found: re.Match[str]) -> str:
    begun = found[0]
    return f"{begun}\\" if begun[0].isdigit() else f"\\{begun}"
