"""Execute SQL with a given SQLite library, as a Python program of its own.

    python client.py LIBRARY DATABASE < statements.json > rows.json

Standard input is a list of SQL texts, each with any number of statements. Standard output has, for
each text, the rows of all its statements, with values as strings. The first statement that fails
ends the program with exit code 1 and SQLite's error message on standard error.
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


class SqliteConnection:
    """A connection to a database through a given library. An error ends the program."""

    def __init__(self, library: str, database: str) -> None:
        self._sqlite = ctypes.CDLL(library)
        self._sqlite.sqlite3_errmsg.restype = ctypes.c_char_p
        self._handle = ctypes.c_void_p()
        handle = ctypes.byref(self._handle)
        self._check(self._sqlite.sqlite3_open_v2(database.encode(), handle, _OPEN_READ_WRITE, None))

    def execute(self, text: str) -> list[Row]:
        """Execute all statements of a text and return their rows."""
        rows: list[Row] = []

        def collect(_: object, count: int, values: Any, names: object) -> int:
            rows.append([None if value is None else value.decode() for value in values[:count]])
            return 0

        collecting = _COLLECT(collect)
        self._check(self._sqlite.sqlite3_exec(self._handle, text.encode(), collecting, None, None))
        return rows

    def close(self) -> None:
        """Close the connection to the database."""
        self._check(self._sqlite.sqlite3_close(self._handle))

    def _check(self, code: int) -> None:
        if code:
            sys.exit(self._sqlite.sqlite3_errmsg(self._handle).decode(errors="replace"))


if __name__ == "__main__":
    connection = SqliteConnection(*sys.argv[1:])
    json.dump([connection.execute(text) for text in json.load(sys.stdin)], sys.stdout)
    connection.close()
