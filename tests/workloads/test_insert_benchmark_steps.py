"""The Insert Benchmark on every kind of DBMS: what its steps do to the tables, and how fast."""

from __future__ import annotations

import re
import time
from typing import Any

import psycopg
import pytest

from pipeline.model import Connection
from pipeline.targets.postgres.server import connect
from tests.workloads.databases import Database
from tests.workloads.insert_benchmark_databases import CLIENTS, database
from tests.workloads.insert_benchmark_runner import (
    FAMILY,
    ROWS,
    ROWS_I1,
    ROWS_I2,
    run,
    workload,
)

__all__ = ["database"]

on_postgres = pytest.mark.parametrize("database", ["postgres"], indirect=True)


def rows_ever(text: str) -> dict[str, int]:
    """Return the rows that a step inserted and deleted, warm-up included, by kind."""
    said = re.findall(r"^nightshift ever kind=(\S+) operations=(\d+)$", text, re.MULTILINE)
    return {kind: int(operations) for kind, operations in said}


def number(database: Database, query: str) -> int:
    (row,) = database.rows(query)
    return int(row[0])


def count(database: Database) -> int:
    """The rows of all tables."""
    tables = FAMILY.tables(workload("l.i0", clients=CLIENTS))
    return sum(number(database, f"SELECT count(*) FROM {table}") for table in tables)


def test_all_rows_are_loaded_inserted_and_deleted(database: Database) -> None:
    """What is in the tables is what every step says that it put there, and took away."""
    ran = run(workload("qr100", "qp1000", clients=CLIENTS), database.connection)
    assert list(ran) == ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp1000"]
    ever = {name: rows_ever(text) for name, (text, _) in ran.items()}
    assert ever["l.i0"] == {"inserts": CLIENTS * ROWS}
    assert ever["l.i1"] == dict.fromkeys(("inserts", "deletes"), CLIENTS * ROWS_I1)
    assert ever["l.i2"] == dict.fromkeys(("inserts", "deletes"), CLIENTS * ROWS_I2)
    inserted = sum(rows.get("inserts", 0) for rows in ever.values())
    deleted = sum(rows.get("deletes", 0) for rows in ever.values())
    assert count(database) == inserted - deleted
    for step in ("qr100", "qp1000"):
        queries = ran[step].output
        assert 0 < queries.operations < ever[step]["queries"], "the warm-up is counted"
        assert sum(events for _, events in queries.histogram) == queries.operations
        assert queries.background["deletes"].achieved > 0
    assert all(output.errors == 0 for _, output in ran.values())


def test_the_throughput_of_a_load_is_its_rows_in_its_time(database: Database) -> None:
    ran = run(workload("l.i2", clients=CLIENTS), database.connection)
    operations = {name: output.operations for name, (_, output) in ran.items()}
    assert operations == {
        "l.i0": CLIENTS * ROWS,
        "l.x": CLIENTS * ROWS,
        "l.i1": CLIENTS * ROWS_I1,
        "l.i2": CLIENTS * ROWS_I2,
    }
    for _, output in ran.values():
        assert output.seconds > 0
        # An event is a transaction of some rows, or the making of an index.
        assert sum(events for _, events in output.histogram) < output.operations
        assert 0 < output.latency_ms["p50"] <= output.latency_ms["max"]
    beside = ran["l.i1"].output.background["deletes"]
    rate = operations["l.i1"] / ran["l.i1"].output.seconds
    assert (beside.achieved, beside.target) == (pytest.approx(rate), None)


def test_the_table_is_a_queue(database: Database) -> None:
    """The oldest rows go, whatever order they are found in."""
    made = workload("l.i1")
    run(made, database.connection)
    deleted = ROWS_I1
    assert number(database, "SELECT min(transactionid) FROM purchases1") == deleted + 1
    kept = f"SELECT count(*) FROM purchases1 WHERE transactionid <= {ROWS}"
    assert number(database, kept) == ROWS - deleted


def test_rows_are_as_published(database: Database) -> None:
    run(workload("l.i0"), database.connection)
    for column, values in (
        ("cashregisterid", 1000),
        ("customerid", 100_000),
        ("productid", 10_000),
        ("price", 500),
    ):
        (found,) = database.rows(
            f"SELECT min({column}), max({column}), count(DISTINCT {column}) FROM purchases1"
        )
        least, largest, distinct = (int(value) for value in found)
        assert 0 <= least < 0.1 * values
        assert 0.9 * values < largest < values
        # Of so many draws from so many values, this part is met (within 10 %).
        expected = values * (1 - (1 - 1 / values) ** ROWS)
        assert distinct == pytest.approx(expected, rel=0.1)
    (lengths,) = database.rows("SELECT min(length(data)), max(length(data)) FROM purchases1")
    assert [int(length) for length in lengths] == [10, 20]
    same = "SELECT count(*) FROM purchases1 WHERE data LIKE '%aaaaa' AND data NOT LIKE 'aaaaa%'"
    assert number(database, same) == pytest.approx(ROWS, rel=0.01)


@on_postgres
def test_range_queries_are_answered_by_each_index_alone(database: Database) -> None:
    made = workload("qr100")
    run(workload("l.i2"), database.connection)
    with connect(database.connection) as session:
        # As maintenance does: a page with commits that are not on storage is not marked as
        # visible to all, and an index alone would not answer.
        session.execute("SET synchronous_commit = on")
        session.execute("SELECT pg_logical_emit_message(true, 'test', 'flush')")
        session.execute("VACUUM ANALYZE purchases1")
        await_clients_gone(session)
        session.execute("SELECT pg_stat_reset()")
    ran = run(made, database.connection, "qr100")["qr100"]
    asked = rows_ever(ran.text)["queries"]
    for name, (scans, read, fetched) in indexes_used(database.connection).items():
        if "_i" in name:
            assert scans == pytest.approx(asked / 3, rel=0.2)
            # Ten rows, and entries of rows that are deleted.
            assert 8 * scans < read < 15 * scans
            # Rows that came since the VACUUM are looked up in the table, too.
            assert fetched < 0.5 * read
    # So small a table may be scanned to delete from it.
    assert number(database, "SELECT seq_scan FROM pg_stat_user_tables") < asked / 100


@pytest.mark.parametrize("database", ["mariadb", "mysql"], indirect=True)
def test_range_queries_need_no_sort_and_no_scan(database: Database) -> None:
    run(workload("l.i2"), database.connection)
    database.rows("ANALYZE TABLE purchases1")
    before = status(database)
    ran = run(workload("qr100"), database.connection, "qr100")["qr100"]
    asked = rows_ever(ran.text)["queries"]
    after = status(database)
    grown = {name: after[name] - before[name] for name in after}
    assert grown["Sort_rows"] == 0
    assert grown["Handler_read_rnd_next"] < asked / 10
    # Nine more rows of the index for each query, and those that are deleted.
    assert 8 * asked < grown["Handler_read_next"] < 12 * asked


def status(database: Database) -> dict[str, int]:
    """What the server counted of how rows were found."""
    rows = database.rows(
        "SHOW GLOBAL STATUS WHERE Variable_name IN"
        " ('Sort_rows', 'Handler_read_next', 'Handler_read_rnd_next')"
    )
    return {str(name): int(value) for name, value in rows}


@on_postgres
def test_point_queries_use_the_primary_key(database: Database) -> None:
    ran = run(workload("qp100"), database.connection)["qp100"]
    used = indexes_used(database.connection)
    scans, _, _ = used.pop("purchases1_pkey")
    assert scans > rows_ever(ran.text)["queries"]
    assert all(scans == 0 for scans, _, _ in used.values())


def await_clients_gone(session: psycopg.Connection[Any]) -> None:
    """Wait for what clients leave: their servers hand over what they counted when they end."""
    deadline = time.monotonic() + 120
    others = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND query LIKE '%purchases%'"
    )
    while session.execute(others).fetchone() != (0,):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def indexes_used(connection: Connection) -> dict[str, tuple[int, int, int]]:
    """How often each index was looked into, its entries and then rows of the table read."""
    with connect(connection) as session:
        await_clients_gone(session)
        rows = session.execute(
            "SELECT indexrelname, idx_scan, idx_tup_read, idx_tup_fetch FROM pg_stat_user_indexes"
        )
        return {str(name): (scans, read, fetched) for name, scans, read, fetched in rows}


@on_postgres
def test_ids_are_handed_out_in_blocks(database: Database) -> None:
    run(workload("l.i0"), database.connection)
    cached = "SELECT cache_size FROM pg_sequences WHERE sequencename LIKE 'purchases1%'"
    assert number(database, cached) == 1000


@on_postgres
def test_what_the_server_refuses_for_now_is_repeated_and_counted(database: Database) -> None:
    made = workload("l.i1")
    run(workload("l.i0"), database.connection)
    with connect(database.connection) as session:
        refuse(session, "nextval('refusals') % 3 = 1", "serialization_failure")
    ran = run(made, database.connection, "l.i1")["l.i1"]
    assert rows_ever(ran.text) == {"inserts": ROWS_I1, "deletes": ROWS_I1}
    assert ran.output.errors == 5
    assert count_one(database) == ROWS


@on_postgres
def test_what_the_server_refuses_for_good_ends_the_step_with_a_line(database: Database) -> None:
    made = workload("qr100")
    run(workload("l.i2"), database.connection)
    with connect(database.connection) as session:
        refuse(session, "nextval('refusals') > 2", "check_violation")
    with pytest.raises(ValueError, match=r"sysbench failed: .*refused") as raised:
        run(made, database.connection, "qr100")
    assert "\n" not in str(raised.value)


def count_one(database: Database) -> int:
    return number(database, "SELECT count(*) FROM purchases1")


def refuse(session: psycopg.Connection, when: str, condition: str) -> None:
    """Let Postgres raise an error for some of the statements that insert."""
    session.execute("DROP SEQUENCE IF EXISTS refusals")
    session.execute("CREATE SEQUENCE refusals")
    session.execute(
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF {when} THEN RAISE EXCEPTION 'refused' USING ERRCODE = '{condition}'; END IF; "
        "RETURN NULL; END $$".encode()
    )
    session.execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON purchases1"
        " FOR EACH STATEMENT EXECUTE FUNCTION refuse()"
    )


def test_a_step_without_its_table_fails_with_a_line(database: Database) -> None:
    with pytest.raises(ValueError, match=r"sysbench failed: .*purchases1") as raised:
        run(workload("l.i1"), database.connection, "l.i1")
    assert "\n" not in str(raised.value)
