"""The databases that the steps are tested on: what each is asked in SQL of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import psycopg
from pymysql.cursors import Cursor

from pipeline.model import Connection
from pipeline.targets.sqlite.library import execute

Row = tuple[Any, ...]


class Database(Protocol):
    """A database with tables sbtest1 and on."""

    connection: Connection

    def rows(self, query: str) -> list[Row]:
        """Return the rows of a query that every DBMS understands."""
        ...

    def close_to_new_ids(self, largest: int) -> str:
        """Let no row with an id above ``largest`` into sbtest1; return what that will say."""
        ...


class PostgresDatabase:
    """A database of Postgres."""

    def __init__(self, connection: Connection, session: psycopg.Connection) -> None:
        self.connection = connection
        self._session = session

    def rows(self, query: str) -> list[Row]:
        return self._session.execute(query.encode()).fetchall()

    def do(self, *statements: str) -> None:
        """Run statements that have no result."""
        for statement in statements:
            self._session.execute(statement.encode())

    def close_to_new_ids(self, largest: int) -> str:
        closed = f"ALTER TABLE sbtest1 ADD CONSTRAINT closed CHECK (id <= {largest})"
        self._session.execute(closed.encode())
        return 'violates check constraint "closed"'


class MySQLDatabase:
    """A database of MySQL."""

    def __init__(self, connection: Connection, session: Cursor) -> None:
        self.connection = connection
        self._session = session

    def rows(self, query: str) -> list[Row]:
        self._session.execute(query)
        return list(self._session.fetchall())

    def do(self, *statements: str) -> None:
        """Run statements that have no result."""
        for statement in statements:
            self._session.execute(statement)

    def close_to_new_ids(self, largest: int) -> str:
        # It has no constraint on ids that it makes; any row without one would be above.
        assert self.rows("SELECT max(id) FROM sbtest1") == [(largest,)]
        self.rows(
            "CREATE TRIGGER closed BEFORE INSERT ON sbtest1 FOR EACH ROW"
            " SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'it is closed'"
        )
        return r"1644 \(it is closed\)"


class SQLiteFile:
    """A database of SQLite, asked by the library under test, which gives all values as texts."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def rows(self, query: str) -> list[Row]:
        path = Path(self.connection.socket_dir) / self.connection.database
        (found,) = execute(Path(self.connection.program), path, [query])
        return [tuple(_value(text) for text in row) for row in found]

    def close_to_new_ids(self, largest: int) -> str:
        self.rows(
            f"CREATE TRIGGER closed BEFORE INSERT ON sbtest1 WHEN (SELECT count(*) FROM sbtest1)"
            f" >= {largest} BEGIN SELECT RAISE(ABORT, 'it is closed'); END"
        )
        return "SQLite: it is closed"


def _value(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdecimal() else text
