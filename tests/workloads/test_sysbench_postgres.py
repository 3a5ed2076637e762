"""What only Postgres shows of the steps: types of columns, and how far each index is used."""

import time
from collections.abc import Callable, Mapping

import psycopg
import pytest

from pipeline.workloads.sysbench import catalogue
from tests.cases import every_case
from tests.workloads.databases import PostgresDatabase
from tests.workloads.sysbench_runner import ROWS, Sysbench, events

EVENTS = 10


@pytest.fixture
def sysbench(loaded_postgres: PostgresDatabase) -> Sysbench:
    return Sysbench(loaded_postgres.connection)


@pytest.fixture
def connection(
    loaded_postgres: PostgresDatabase, postgres_session: psycopg.Connection
) -> psycopg.Connection:
    return postgres_session


def one(connection: psycopg.Connection, query: str) -> tuple[object, ...]:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row


def test_load_makes_the_published_table(connection: psycopg.Connection) -> None:
    assert one(
        connection, "SELECT count(*), min(id), max(id), min(k) >= 1, max(k) FROM sbtest1"
    ) == (ROWS, 1, ROWS, True, pytest.approx(ROWS, rel=0.01))
    groups = "SELECT count(*) FROM sbtest1 WHERE c !~ '^(\\d{11}-){9}\\d{11} *$'"
    assert one(connection, groups + " OR pad !~ '^(\\d{11}-){4}\\d{11} *$'") == (0,)
    assert one(connection, "SELECT count(DISTINCT c), count(DISTINCT pad) FROM sbtest1") == (
        ROWS,
        ROWS,
    )
    types = connection.execute(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
        " WHERE attrelid = 'sbtest1'::regclass AND attnum > 0 ORDER BY attnum"
    ).fetchall()
    assert types == [
        ("id", "integer"),
        ("k", "integer"),
        ("c", "character(120)"),
        ("pad", "character(60)"),
    ]
    indexes = connection.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'sbtest1' ORDER BY 1"
    ).fetchall()
    assert [name for name, _ in indexes] == ["k_1", "sbtest1_pkey"]
    assert indexes[0][1].endswith("USING btree (k)")


def usage(connection: psycopg.Connection) -> Mapping[str, int]:
    """Scans of the table and rows that came through each index, since the load."""
    row = one(
        connection,
        "SELECT t.seq_scan, p.idx_scan, p.idx_tup_read, k.idx_scan, k.idx_tup_read"
        " FROM pg_stat_user_tables t"
        " JOIN pg_stat_user_indexes p ON p.relid = t.relid AND p.indexrelname = 'sbtest1_pkey'"
        " JOIN pg_stat_user_indexes k ON k.relid = t.relid AND k.indexrelname = 'k_1'"
        " WHERE t.relname = 'sbtest1'",
    )
    keys = ("seq_scan", "pk_scan", "pk_rows", "k_scan", "k_rows")
    return {key: int(str(value)) for key, value in zip(keys, row, strict=True)}


# Per event: the smallest and largest number of index entries read through the primary key
# and through k. Ranges end at the table's end, random lists name some rows twice, and the
# planner itself looks up a table's largest key now and then.
READS: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
    "point-query_range=100": ((1, 1), (0, 0)),
    "hot-points_range=100": ((100, 100), (0, 0)),
    "random-points_range=10": ((9, 10), (0, 0)),
    "points-covered-pk_range=100": ((90, 100), (0, 0)),
    "points-covered-si_range=100": ((0, 0), (60, 150)),
    "points-notcovered-si_range=100": ((0, 0), (60, 150)),
    "range-covered-pk_range=100": ((80, 104), (0, 0)),
    "range-covered-si_range=100": ((0, 0), (60, 150)),
    "range-notcovered-si_range=100": ((0, 0), (60, 150)),
    "read-only_range=10": ((10 + 36, 10 + 44), (0, 0)),
    "read-only_range=100": ((10 + 320, 10 + 410), (0, 0)),
}


@every_case("name", READS)
def test_which_index_the_reads_use_and_how_far(
    sysbench: Sysbench, connection: psycopg.Connection, name: str
) -> None:
    connection.execute("VACUUM ANALYZE sbtest1")
    wait_for_clients(connection)
    before = usage(connection)
    sysbench.step(catalogue.step_named(name), *events(EVENTS))
    (pk_least, pk_most), (k_least, k_most) = READS[name]

    def read() -> bool:
        after = usage(connection)
        through_pk = (after["pk_rows"] - before["pk_rows"]) / EVENTS
        through_k = (after["k_rows"] - before["k_rows"]) / EVENTS
        return (
            pk_least <= through_pk <= pk_most
            and k_least <= through_k <= k_most
            and after["seq_scan"] == before["seq_scan"]
        )

    assert eventually(read), (before, usage(connection))


def test_scan_reads_the_whole_table(sysbench: Sysbench, connection: psycopg.Connection) -> None:
    wait_for_clients(connection)
    before = usage(connection)
    sysbench.step(catalogue.step_named("scan_range=100"), *events(EVENTS))
    assert eventually(lambda: usage(connection)["seq_scan"] == before["seq_scan"] + EVENTS)


def eventually(condition: Callable[[], bool]) -> bool:
    """Wait for the server's statistics, which a backend hands over when it ends."""
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def wait_for_clients(connection: psycopg.Connection) -> None:
    others = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE query LIKE '%sbtest%' AND pid <> pg_backend_pid()"
    )
    assert eventually(lambda: one(connection, others) == (0,))
