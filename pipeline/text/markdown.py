"""Escape untrusted text, so that markdown shows it as it is.

Commit messages, step names, settings and the contents of a stranger's branch end up in issues,
comments and job summaries. Text there can mention people, refer to issues and close them, link,
hide in comments, and give commands to bots and to the runner that prints it. GitHub resolves
backslashes and entities before it looks for mentions and references, so a zero-width space breaks
those.
"""

from __future__ import annotations

import re

BREAK = "\u200b"
"""A zero-width space, inserted into text that would have an effect."""

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
    """Return text as one plain line that does nothing in a title or chat.

    Invisible characters, such as those that change the writing direction, are removed, and long
    text is cut.
    """
    line = _line(text)
    if len(line) > LONGEST:
        line = f"{line[: LONGEST - 1]}…"
    return _ACTS.sub(BREAK, _inactive(line))


def cell(text: str) -> str:
    """Return text escaped for a line or a table cell in markdown."""
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
    """Return text as a code block in markdown that it cannot end by itself."""
    lines = (_shown(line, keep="\t") for line in text.splitlines())
    body = "\n".join(_inactive(line) for line in lines)
    fence = "`" * max(3, _longest(body) + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def linked(markdown: str, address: str) -> str:
    """Return markdown as a link, or unchanged if there is no address.

    The address is trusted: it comes from a configuration, or from checked parts.
    """
    return f"[{markdown}](<{address}>)" if address else markdown


def _inactive(line: str) -> str:
    """Change text that does something even inside code, such as mentions."""
    return _COMMAND.sub(rf"\g<0>{BREAK}", _ACTS_IN_CODE.sub(BREAK, line))


def _line(text: str) -> str:
    return " ".join(_shown(text).split())


def _shown(text: str, keep: str = "") -> str:
    """Replace white space by spaces, and remove invisible characters."""
    spaced = (" " if each.isspace() and each not in keep else each for each in text)
    return "".join(each for each in spaced if each in keep or each.isprintable())


def _longest(text: str) -> int:
    return max((len(ticks) for ticks in _TICKS.findall(text)), default=0)


def _escape_beginning(found: re.Match[str]) -> str:
    begun = found[0]
    return f"{begun}\\" if begun[0].isdigit() else f"\\{begun}"
