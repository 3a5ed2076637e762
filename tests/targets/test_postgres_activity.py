"""What real servers of all ages report of their work."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from pipeline.machine.account import Account
from pipeline.model import FieldKind, ServerConfig
from pipeline.targets.base import Ask, Placement
from pipeline.targets.postgres import Postgres
from pipeline.targets.postgres.server import PostgresServer, connect
from tests.conftest import Release
from tests.ports import free_port

PLAIN = ServerConfig(
    family="plain",
    name="plain",
    text="shared_buffers = 16MB\nautovacuum = off\ndynamic_shared_memory_type = mmap\n",
)
"""What every release takes; vacuums happen when the test says so."""


Session = psycopg.Connection[tuple[object, ...]]


@pytest.fixture(scope="module", params=["9", "12", "16", "17", "18"])
def server(
    request: pytest.FixtureRequest,
    releases: Callable[[str], Release],
    server_root: Path,
    account: Account,
) -> Iterator[PostgresServer]:
    """A server of each release that is asked differently, and of some between."""
    target, release = Postgres(), releases(request.param)
    template = server_root / "templates" / release.revision.version
    target.template(release.build, template, account)
    folder = server_root / f"activity-{request.param}"
    placement = Placement(folder=folder, port=free_port(), processors=(), account=account)
    running = target.start(release.build, PLAIN, template, placement)
    try:
        with connect(running.connection) as session:
            session.execute("CREATE TABLE busy (id int PRIMARY KEY, filler text)")
        yield running
    finally:
        running.stop()


@pytest.fixture
def ask(server: PostgresServer) -> Iterator[Ask]:
    assert server.activity is not None
    with server.activity.session() as asking:
        yield asking


@pytest.fixture
def session(server: PostgresServer) -> Iterator[Session]:
    with connect(server.connection) as opened:
        yield opened


def awaited(ask: Ask, name: str, fits: Callable[[float], bool]) -> float:
    """The first value of a figure that fits: statistics are reported with a delay."""
    deadline = time.monotonic() + 120
    while not fits(value := ask()[name]):
        assert time.monotonic() < deadline, f"{name} stayed {value}"
        time.sleep(0.02)
    return value


def flush(session: Session) -> None:
    """Have a session report its statistics now, where it can: by itself it waits for 10 s."""
    if session.info.server_version >= 150_000:
        session.execute("SELECT pg_stat_force_next_flush()")


def test_every_figure_that_is_declared_is_reported(server: PostgresServer, ask: Ask) -> None:
    assert server.activity is not None
    declared = [field.name for field in server.activity.fields]
    assert sorted(ask()) == sorted(declared)
    assert all(name.startswith("dbms.") for name in declared)


def test_counters_count_the_work(server: PostgresServer, ask: Ask, session: Session) -> None:
    assert server.activity is not None
    before = ask()
    session.execute("INSERT INTO busy SELECT n, repeat('x', 500) FROM generate_series(1, 2000) n")
    written = ask()["dbms.wal_bytes"] - before["dbms.wal_bytes"]
    assert written > 2000 * 500
    session.execute("CHECKPOINT")
    awaited(ask, "dbms.checkpoints", lambda value: value > before["dbms.checkpoints"])
    # A page holds less than 8192 / 500 of the rows.
    least = before["dbms.checkpoint_pages"] + 2000 * 500 / 8192
    awaited(ask, "dbms.checkpoint_pages", lambda value: value > least)
    session.execute("SET work_mem = '64kB'")
    session.execute("SELECT n FROM generate_series(1, 50000) n ORDER BY -n")
    flush(session)
    awaited(ask, "dbms.temp_bytes", lambda value: value > before["dbms.temp_bytes"])
    after = ask()
    for field in server.activity.fields:
        if field.kind is FieldKind.COUNTER:
            assert after[field.name] >= before[field.name], field.name


def test_pages_that_clients_had_to_write_are_counted(ask: Ask, session: Session) -> None:
    """The buffers hold 16 MB, and this is 40."""
    before = ask()["dbms.backend_pages"]
    session.execute("CREATE TABLE large AS SELECT repeat('x', 2000) FROM generate_series(1, 20000)")
    session.execute("DROP TABLE large")
    flush(session)
    awaited(ask, "dbms.backend_pages", lambda value: value > before + 1000)


def test_debt_is_reported_and_paid(server: PostgresServer, ask: Ask, session: Session) -> None:
    session.execute("TRUNCATE busy")
    session.execute("INSERT INTO busy SELECT n FROM generate_series(1, 1000) n")
    session.execute("DELETE FROM busy WHERE id <= 700")
    with connect(server.connection) as other:
        # What a session did is reported half a second later at the earliest, and before 15 only
        # with its next statement, or when it ends.
        session.close()
        assert awaited(ask, "dbms.dead_tuples", lambda value: value >= 700) == 700
        other.execute("VACUUM busy")
    awaited(ask, "dbms.dead_tuples", lambda value: value == 0)


def test_an_old_snapshot_is_reported(server: PostgresServer, ask: Ask, session: Session) -> None:
    with connect(server.connection) as old, old.transaction():
        old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        old.execute("SELECT 1 FROM busy LIMIT 1")
        for _ in range(12):
            session.execute("SELECT txid_current()")
        assert ask()["dbms.xmin_age"] >= 12
    assert ask()["dbms.xmin_age"] < 12


def test_a_vacuum_is_seen_while_it_runs(server: PostgresServer, ask: Ask, session: Session) -> None:
    session.execute("TRUNCATE busy")
    session.execute("INSERT INTO busy SELECT n, repeat('x', 500) FROM generate_series(1, 2000) n")
    with connect(server.connection) as other:
        # It waits 100 ms after every page that it reads.
        other.execute("SET vacuum_cost_delay = 100")
        other.execute("SET vacuum_cost_limit = 1")
        backend = other.info.backend_pid

        def vacuum() -> None:
            with contextlib.suppress(psycopg.errors.QueryCanceled):
                other.execute("VACUUM busy")

        thread = threading.Thread(target=vacuum)
        thread.start()
        try:
            assert awaited(ask, "dbms.vacuums", lambda value: value > 0) == 1
            assert 0 < awaited(ask, "dbms.vacuum_scanned", lambda value: value > 0) <= 100
        finally:
            session.execute("SELECT pg_cancel_backend(%s)", (backend,))
            thread.join()
    assert ask()["dbms.vacuums"] == 0
