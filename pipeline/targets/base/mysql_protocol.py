"""Sessions with a MySQL or MariaDB server over its Unix socket.

Only modules that start such a server import this one, so that a missing driver affects no other
target.
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
"""The name of the socket in the server's folder; the workloads use it too."""
CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a server that does not accept connections."""


def connect(connection: Connection) -> pymysql.Connection[Cursor]:
    """Open a session with a server; every statement commits. Raises pymysql.MySQLError."""
    session = pymysql.connect(
        user=connection.user,
        database=connection.database,
        charset="latin1",
        autocommit=True,
        defer_connect=True,
    )
    # The driver leaks its socket if nobody listens; pass it one that is connected.
    wire = socket.socket(socket.AF_UNIX)
    wire.settimeout(CONNECT_TIMEOUT)
    try:
        wire.connect(f"{connection.socket_dir}/{SOCKET}")
    except OSError as error:
        wire.close()
        raise pymysql.err.OperationalError(f"no server answers on its socket ({error})") from error
    session.connect(wire)
    return session


def make_database(connection: Connection) -> bool:
    """Create the workload's database; return False if the server does not accept clients yet.

    A server listens on its socket shortly before it accepts clients. The database is created by the
    started server, so that its configuration determines the character set. Raises StartError if
    that fails.
    """
    try:
        session = connect(connection.model_copy(update={"database": ""}))
    except pymysql.err.OperationalError:
        return False
    try:
        with session, session.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE IF NOT EXISTS {quoted(connection.database)}")
    except pymysql.MySQLError as error:
        raise StartError(
            f"the workload's database cannot be created ({_sentence(error)})"
        ) from error
    return True


@contextmanager
def asking(connection: Connection) -> Iterator[Cursor]:
    """Yield a cursor for statements. Errors of the server are raised as ServerError."""
    try:
        with connect(connection) as session, session.cursor() as cursor:
            yield cursor
    except pymysql.MySQLError as error:
        raise ServerError(_sentence(error)) from error


def quoted(name: str) -> str:
    """Quote the name of a table or column for use in a statement."""
    return "`" + name.replace("`", "``") + "`"


def _sentence(error: pymysql.MySQLError) -> str:
    """Return the message of a server's error without its number."""
    return str(error.args[-1]).strip().splitlines()[0] if error.args else type(error).__name__
