"""The record of what a receiver has: nothing is sent twice, and sending can resume.

The record is a SQLite file next to the store, not in it, because rebuilding the store does not
change what a receiver has.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pipeline.text.errors import UserError

FILE = "published.db"
"""The file in the results folder with the records of all receivers."""

_PATIENCE = 30.0
"""Seconds to wait for another nightshift that publishes from the same folder."""

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})
"""SQLite's error codes for a damaged file, a file of another kind, and one with other tables."""
_PRIMARY = 0xFF
"""The bits of a SQLite error code that hold its primary code; the other bits give details."""

_TABLES = """
CREATE TABLE IF NOT EXISTS sent (
    receiver TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, correction INTEGER NOT NULL,
    PRIMARY KEY (receiver, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refused (receiver TEXT PRIMARY KEY, samples INTEGER NOT NULL);
"""


class GroupCheckpoint(NamedTuple):
    """The state of a group of samples at a receiver: its digest, and the number of corrections."""

    digest: str
    correction: int


class Position:
    """The record of what one receiver has received from one results folder."""

    def __init__(self, connection: sqlite3.Connection, receiver: str) -> None:
        self._connection, self._receiver = connection, receiver

    def known(self) -> dict[str, GroupCheckpoint]:
        """Return the state of each group that the receiver has, by the key of the group."""
        rows = self._connection.execute(
            "SELECT key, digest, correction FROM sent WHERE receiver = ?", (self._receiver,)
        )
        return {key: GroupCheckpoint(digest, correction) for key, digest, correction in rows}

    def note(self, sent: Mapping[str, GroupCheckpoint], refused: int = 0) -> None:
        """Record which groups of samples were sent, and how many samples were refused.

        The record is on disk when this returns.
        """
        with self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO sent VALUES (?, ?, ?, ?)",
                ((self._receiver, key, *each) for key, each in sent.items()),
            )
            self._connection.execute(
                "INSERT INTO refused VALUES (?, ?) "
                "ON CONFLICT (receiver) DO UPDATE SET samples = samples + excluded.samples",
                (self._receiver, refused),
            )

    def refused(self) -> int:
        """Return how many samples the receiver has refused."""
        row = self._connection.execute(
            "SELECT samples FROM refused WHERE receiver = ?", (self._receiver,)
        ).fetchone()
        return int(row[0]) if row else 0

    def forget(self) -> None:
        """Assume from now on that the receiver has nothing."""
        with self._connection:
            for table in ("sent", "refused"):
                self._connection.execute(
                    f"DELETE FROM {table} WHERE receiver = ?",  # noqa: S608 - names of ours
                    (self._receiver,),
                )


@contextmanager
def opened(results: Path, receiver: str) -> Iterator[Position]:
    """Open the record of a receiver, locked against other senders from this folder.

    Raises UserError while another nightshift publishes, and for a damaged file.
    """
    path = results / FILE
    try:
        results.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=_PATIENCE)
    except (OSError, sqlite3.Error) as error:
        raise UserError(
            f"the record of what was published, {path}, cannot be opened ({error}); check its "
            "permissions"
        ) from error
    try:
        # The lock lasts until this process ends, however it ends.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.commit()
        connection.executescript(_TABLES)
        yield Position(connection, receiver)
    except sqlite3.Error as error:
        if "locked" in str(error):
            raise UserError(
                "another nightshift is publishing from this folder; try again when it has ended"
            ) from error
        # Errors of Python's own module have no code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        if code & _PRIMARY in _DAMAGED:
            raise UserError(
                f"the record of what was published, {path}, is damaged ({error}); delete the "
                "file: everything is then published again"
            ) from error
        raise UserError(
            f"the record of what was published, {path}, cannot be used ({error}); check its disk "
            "and its permissions"
        ) from error
    finally:
        connection.close()
