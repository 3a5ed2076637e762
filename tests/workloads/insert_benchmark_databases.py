"""An empty database of each DBMS for the steps of the Insert Benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from pipeline.targets.base.mysql_protocol import asking
from pipeline.targets.postgres.server import connect
from pipeline.workloads.base.sysbench import connection_options
from pipeline.workloads.insert_benchmark.family import SCRIPTS
from tests.conftest import RunningPostgres
from tests.workloads.databases import Database, MySQLDatabase, PostgresDatabase, SQLiteFile
from tests.workloads.sysbench_runner import run_script

CLIENTS = 2
"""The most clients that a test runs, each with a table of its own."""


@pytest.fixture(params=["postgres", "mariadb", "mysql", "sqlite"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    """An empty database of each DBMS; its tables are dropped after the test."""
    with ExitStack() as closing:
        made = opened(request.param, request, closing)
        yield made
        cleanup = run_script(
            SCRIPTS / "insert_benchmark.lua",
            *connection_options(made.connection),
            f"--clients={CLIENTS}",
            "cleanup",
        )
        assert cleanup.returncode == 0, cleanup.stdout


def opened(name: str, request: pytest.FixtureRequest, closing: ExitStack) -> Database:
    if name == "sqlite":
        return SQLiteFile(request.getfixturevalue("sqlite_database").connection)
    server = request.getfixturevalue(f"{name}_server")
    if isinstance(server, RunningPostgres):
        connection = server.server.connection
        return PostgresDatabase(connection, closing.enter_context(connect(connection)))
    session = closing.enter_context(asking(server.connection))
    return MySQLDatabase(server.connection, session)
