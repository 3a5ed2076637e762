"""What a receiver has: so that nothing is sent twice, and what was cut off goes on.

A SQLite file beside the store, and not in it: what a receiver was told does not change when the
store is rebuilt.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import UserError

FILE = "published.db"
"""Its name in the results folder."""

_PATIENCE = 30.0
"""Seconds to wait for another nightshift that is publishing from the same folder."""

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})
"""What SQLite calls a file that is damaged, none of its own, or has other tables."""
_PRIMARY = 0xFF
"""The bits of its codes that say so; the others have details."""

_TABLES = """
CREATE TABLE IF NOT EXISTS sent (
    receiver TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, correction INTEGER NOT NULL,
    PRIMARY KEY (receiver, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refused (receiver TEXT PRIMARY KEY, samples INTEGER NOT NULL);
"""


class Told(NamedTuple):
    """What a receiver was told of a group: its digest, and how often it was corrected."""

    digest: str
    correction: int


class Position:
    """What one receiver has of one results folder."""

    def __init__(self, connection: sqlite3.Connection, receiver: str) -> None:
        self._connection, self._receiver = connection, receiver

    def known(self) -> dict[str, Told]:
        """Return what it has, by the keys of the groups."""
        rows = self._connection.execute(
            "SELECT key, digest, correction FROM sent WHERE receiver = ?", (self._receiver,)
        )
        return {key: Told(digest, correction) for key, digest, correction in rows}

    def note(self, told: Mapping[str, Told], refused: int = 0) -> None:
        """Keep that these groups were sent, and how many samples of them were refused.

        It is on the disk when this returns.
        """
        with self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO sent VALUES (?, ?, ?, ?)",
                ((self._receiver, key, *each) for key, each in told.items()),
            )
            self._connection.execute(
                "INSERT INTO refused VALUES (?, ?) "
                "ON CONFLICT (receiver) DO UPDATE SET samples = samples + excluded.samples",
                (self._receiver, refused),
            )

    def refused(self) -> int:
        """Return how many samples it has refused."""
        row = self._connection.execute(
            "SELECT samples FROM refused WHERE receiver = ?", (self._receiver,)
        ).fetchone()
        return int(row[0]) if row else 0

    def forget(self) -> None:
        """Take it that the receiver has nothing."""
        with self._connection:
            for table in ("sent", "refused"):
                self._connection.execute(
                    f"DELETE FROM {table} WHERE receiver = ?",  # noqa: S608 - names of ours
                    (self._receiver,),
                )


@contextmanager
def opened(results: Path, receiver: str) -> Iterator[Position]:
    """Open what a receiver has; nobody else publishes from this folder meanwhile.

    Raises UserError where another nightshift does, and where the file is damaged.
    """
    path = results / FILE
    try:
        results.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=_PATIENCE)
    except (OSError, sqlite3.Error) as error:
        raise UserError(f"{path} cannot be opened: {error}") from error
    try:
        # Held until this process ends, however it ends.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.commit()
        connection.executescript(_TABLES)
        yield Position(connection, receiver)
    except sqlite3.Error as error:
        if "locked" in str(error):
            raise UserError(
                "another nightshift is publishing from this folder; try again when it is done"
            ) from error
        # What Python itself cannot read has no code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        if code & _PRIMARY in _DAMAGED:
            raise UserError(
                f"{path}: {error}; remove it, and everything is published anew"
            ) from error
        raise UserError(f"{path}: {error}; see its disk and its permissions") from error
    finally:
        connection.close()
