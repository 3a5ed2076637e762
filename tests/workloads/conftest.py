"""Databases with one loaded table, for the tests of the steps."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from pipeline.model import Connection
from pipeline.targets.base import Server
from pipeline.targets.base.mysql_protocol import asking
from pipeline.targets.postgres.server import connect
from pipeline.targets.sqlite.database import SQLiteDatabase
from tests.conftest import RunningPostgres
from tests.workloads.databases import Database, MySQLDatabase, PostgresDatabase, SQLiteFile
from tests.workloads.sysbench_runner import ROWS, Sysbench
from tests.workloads.tproc_c_shop import Shop, drop, loaded


@pytest.fixture
def postgres_session(postgres_server: RunningPostgres) -> Iterator[psycopg.Connection]:
    with connect(postgres_server.server.connection) as session:
        yield session


@pytest.fixture
def loaded_postgres(
    postgres_server: RunningPostgres, postgres_session: psycopg.Connection
) -> Iterator[PostgresDatabase]:
    """No sbtest table is left behind: other tests use the server, too."""
    connection = postgres_server.server.connection
    load(connection)
    yield PostgresDatabase(connection, postgres_session)
    assert Sysbench(connection)("cleanup", "--tables=4").returncode == 0


@pytest.fixture
def loaded_mysql(mysql_server: Server) -> Iterator[MySQLDatabase]:
    """The same of MySQL."""
    yield from _loaded_by_mysql_s_protocol(mysql_server)


@pytest.fixture
def loaded_mariadb(mariadb_server: Server) -> Iterator[MySQLDatabase]:
    """The same of MariaDB."""
    yield from _loaded_by_mysql_s_protocol(mariadb_server)


def _loaded_by_mysql_s_protocol(server: Server) -> Iterator[MySQLDatabase]:
    load(server.connection)
    with asking(server.connection) as session:
        yield MySQLDatabase(server.connection, session)
    assert Sysbench(server.connection)("cleanup", "--tables=4").returncode == 0


@pytest.fixture
def loaded_sqlite(sqlite_database: SQLiteDatabase) -> SQLiteFile:
    load(sqlite_database.connection)
    return SQLiteFile(sqlite_database.connection)


@pytest.fixture(params=["postgres", "mysql", "sqlite"])
def database(request: pytest.FixtureRequest) -> Database:
    """Each DBMS that has a dialect or a way to it of its own."""
    found: Database = request.getfixturevalue(f"loaded_{request.param}")
    return found


@pytest.fixture(params=["postgres", "mysql", "mariadb", "sqlite"])
def every_database(request: pytest.FixtureRequest) -> Database:
    """Each DBMS that the steps run on."""
    found: Database = request.getfixturevalue(f"loaded_{request.param}")
    return found


def load(connection: Connection) -> None:
    done = Sysbench(connection)("prepare", f"--table-size={ROWS}")
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module", params=["postgres", "mysql", "mariadb"])
def shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    """A database of tproc-c, loaded once for all tests of a file."""
    if request.param == "postgres":
        running: RunningPostgres = request.getfixturevalue("postgres_server")
        with connect(running.server.connection) as session:
            made = loaded(PostgresDatabase(running.server.connection, session))
            yield made
            drop(made)
    else:
        server: Server = request.getfixturevalue(f"{request.param}_server")
        with asking(server.connection) as cursor:
            made = loaded(MySQLDatabase(server.connection, cursor))
            yield made
            drop(made)
