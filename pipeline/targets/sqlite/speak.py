"""Run by a Python of its own: executes statements with one SQLite library, whichever it is.

    python speak.py LIBRARY DATABASE < statements.json > rows.json

Standard input is a list of SQL texts, each of any number of statements; standard output, for each
of them, the rows of all its statements. Values are texts. The first statement that fails ends it
with code 1 and SQLite's own words on standard error.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

Row = list[str | None]

_OPEN_READ_WRITE = 2

_COLLECT = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_char_p),
    ctypes.POINTER(ctypes.c_char_p),
)


class Connection:
    """A connection to a database by a library. What fails ends the program."""

    def __init__(self, library: str, database: str) -> None:
        self._sqlite = ctypes.CDLL(library)
        self._sqlite.sqlite3_errmsg.restype = ctypes.c_char_p
        self._handle = ctypes.c_void_p()
        handle = ctypes.byref(self._handle)
        self._check(self._sqlite.sqlite3_open_v2(database.encode(), handle, _OPEN_READ_WRITE, None))

    def execute(self, text: str) -> list[Row]:
        """Return the rows of all statements of a text."""
        rows: list[Row] = []

        def collect(_: object, count: int, values: Any, names: object) -> int:
            rows.append([None if value is None else value.decode() for value in values[:count]])
            return 0

        collecting = _COLLECT(collect)
        self._check(self._sqlite.sqlite3_exec(self._handle, text.encode(), collecting, None, None))
        return rows

    def close(self) -> None:
        """Close the database."""
        self._check(self._sqlite.sqlite3_close(self._handle))

    def _check(self, code: int) -> None:
        if code:
            sys.exit(self._sqlite.sqlite3_errmsg(self._handle).decode(errors="replace"))


if __name__ == "__main__":
    connection = Connection(*sys.argv[1:])
    json.dump([connection.execute(text) for text in json.load(sys.stdin)], sys.stdout)
    connection.close()
