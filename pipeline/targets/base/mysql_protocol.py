"""Sessions with a server that speaks MySQL's protocol, by its Unix socket.

It is imported by those who start such a server and by nobody else, so that a missing driver is
a trouble of theirs alone.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pymysql
from pymysql.cursors import Cursor

from pipeline.model import Connection
from pipeline.targets.base import ServerError, StartError

SOCKET = "socket"
"""The name of the socket in the server's folder; the workloads know it too."""
CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a server that does not take connections."""


def connect(connection: Connection) -> pymysql.Connection[Cursor]:
    """Return a session that commits every statement. Raises pymysql.MySQLError."""
    session = pymysql.connect(
        user=connection.user,
        database=connection.database,
        charset="latin1",
        autocommit=True,
        defer_connect=True,
    )
    # The driver would leave a socket open that nobody listens on; it is given one that works.
    wire = socket.socket(socket.AF_UNIX)
    wire.settimeout(CONNECT_TIMEOUT)
    try:
        wire.connect(f"{connection.socket_dir}/{SOCKET}")
    except OSError as error:
        wire.close()
        raise pymysql.err.OperationalError(f"nobody answers on its socket ({error})") from error
    session.connect(wire)
    return session


def make_database(connection: Connection) -> bool:
    """Make the connection's database, and say whether the server lets a client in to do so.

    A server listens a moment before it does. The database is made by a started server, so that
    its character set is what the configuration says. Raises StartError if it cannot be made.
    """
    try:
        session = connect(connection.model_copy(update={"database": ""}))
    except pymysql.err.OperationalError:
        return False
    try:
        with session, session.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE IF NOT EXISTS {quoted(connection.database)}")
    except pymysql.MySQLError as error:
        raise StartError(f"its database cannot be made ({_sentence(error)})") from error
    return True


@contextmanager
def asking(connection: Connection) -> Iterator[Cursor]:
    """Give a session to ask statements in. What the server refuses is a ServerError."""
    try:
        with connect(connection) as session, session.cursor() as cursor:
            yield cursor
    except pymysql.MySQLError as error:
        raise ServerError(_sentence(error)) from error


def quoted(name: str) -> str:
    """Return the name of a table or column as it stands in a statement."""
    return "`" + name.replace("`", "``") + "`"


def _sentence(error: pymysql.MySQLError) -> str:
    """Return what the server said, without its number."""
    return str(error.args[-1]).strip().splitlines()[0] if error.args else type(error).__name__
