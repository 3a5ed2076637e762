"""Find the line of each setting in a TOML text, so that errors can name it.

The parser of the standard library does not report positions. This scanner finds the line on which
each value begins. The text has been parsed before, so the scanner may assume that it is valid.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence

Location = tuple[str | int, ...]
"""A path to a setting, as pydantic returns it: ("workload", 0, "steps", 2)."""

_BLANK = re.compile(r"(?:[\s,]|#[^\n]*)*")
"""Whitespace, comments and commas between two values."""
_KEY = re.compile(r"""[\w-]+|"(?:\\.|[^"\\])*"|'[^']*'""")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_SCALAR = re.compile(
    r'''"""(?:\\.|(?!""").)*""""{0,2}'''  # a text may end in two quotes of its own
    r"""|'''.*?''''{0,2}"""
    r'''|"(?:\\.|[^"\\])*"'''
    r"""|'[^']*'"""
    r"""|[^,\]}#\n]*""",
    re.DOTALL,
)


def find_line(text: str, location: Sequence[str | int]) -> int:
    """Return the line number, from 1, on which a setting of a TOML text begins.

    For a missing setting, return the line of the innermost table or list that should contain it.
    """
    offsets = _Scanner(text).offsets
    for length in range(len(location), 0, -1):
        offset = offsets.get(tuple(location[:length]))
        if offset is not None:
            return text.count("\n", 0, offset) + 1
    return 1


class _Scanner:
    """Scans a TOML text; ``offsets`` has the position at which each setting or table begins."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._arrays: dict[Location, int] = {}
        self.offsets: dict[Location, int] = {}
        table: Location = ()
        while self._skip(_BLANK) < len(text):
            if text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _skip(self, pattern: re.Pattern[str]) -> int:
        if found := pattern.match(self._text, self._at):
            self._at = found.end()
        return self._at

    def _header(self) -> Location:
        begin = self._at
        brackets = 2 if self._text.startswith("[[", begin) else 1
        self._at += brackets
        table: Location = ()
        keys = self._keys()
        for depth, key in enumerate(keys, start=1):
            table = (*table, key)
            self.offsets.setdefault(table, begin)
            if brackets == 2 and depth == len(keys):
                self._arrays[table] = self._arrays.get(table, -1) + 1
            if table in self._arrays:
                table = (*table, self._arrays[table])
        self.offsets[table] = begin
        self._skip(_BLANK)
        self._at += brackets
        return table

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._skip(_BLANK)
            begin = self._at
            raw = self._text[begin : self._skip(_KEY)]
            keys.append(tomllib.loads(f"key={raw}")["key"] if raw[:1] in ("'", '"') else raw)
            before = self._at
            if self._skip(_DOT) == before:
                return keys

    def _pair(self, table: Location) -> None:
        begin = self._at
        for key in self._keys():
            table = (*table, key)
            self.offsets.setdefault(table, begin)
        self._skip(_EQUALS)
        self._value(table)

    def _value(self, location: Location) -> None:
        self.offsets.setdefault(location, self._at)
        match self._text[self._at]:
            case "[":
                self._at += 1
                index = 0
                while self._text[self._skip(_BLANK)] != "]":
                    self._value((*location, index))
                    index += 1
                self._at += 1
            case "{":
                self._at += 1
                while self._text[self._skip(_BLANK)] != "}":
                    self._pair(location)
                self._at += 1
            case _:
                self._skip(_SCALAR)
