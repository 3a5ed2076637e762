"""The plans of all statements, as every DBMS prints them, and made comparable."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from pipeline.model import Connection, Scale
from pipeline.workloads import find_family
from pipeline.workloads.base.plans import read_plans
from pipeline.workloads.base.sysbench import connection_options
from pipeline.workloads.insert_benchmark.family import SCRIPTS
from tests.workloads.databases import Database, MySQLDatabase, PostgresDatabase
from tests.workloads.insert_benchmark_databases import opened
from tests.workloads.insert_benchmark_runner import run
from tests.workloads.insert_benchmark_runner import workload as inserts
from tests.workloads.sysbench_runner import LONGEST_SECONDS, ROWS, run_script

SCALE = Scale(tables=1, rows=ROWS, clients=1, measure=1, warmup=0)

TRANSACTION = {
    "SELECT c FROM sbtest# WHERE id = ?",
    "SELECT c FROM sbtest# WHERE id BETWEEN ? AND ?",
    "SELECT SUM(k) FROM sbtest# WHERE id BETWEEN ? AND ?",
    "SELECT c FROM sbtest# WHERE id BETWEEN ? AND ? ORDER BY c",
    "SELECT DISTINCT c FROM sbtest# WHERE id BETWEEN ? AND ? ORDER BY c",
    "UPDATE sbtest# SET k = k + # WHERE id = ?",
    "UPDATE sbtest# SET c = ? WHERE id = ?",
    "DELETE FROM sbtest# WHERE id = ?",
    "INSERT INTO sbtest# (id, k, c, pad) VALUES (?)",
}
"""Everything that a read-write transaction plans: not its BEGIN and COMMIT."""


def explained(family: str, steps: tuple[str, ...], connection: Connection, seed: int = 7) -> str:
    made = find_family(family)
    workload = (
        inserts(*steps) if family == "insert_benchmark" else made.workload("w", steps, SCALE, {})
    )
    done = subprocess.run(
        made.explain(workload, connection, seed),
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_statement_of_every_step_has_a_plan(every_database: Database) -> None:
    before = every_database.rows("SELECT count(*), sum(k), max(id) FROM sbtest1")
    plans = read_plans(explained("sysbench", ("all",), every_database.connection))
    steps = find_family("sysbench").workload("w", ("all",), SCALE, {}).steps
    assert list(plans) == [step.name for step in steps]
    assert all(step for step in plans.values())
    # SQLite has no plan for an INSERT: there is nothing to be chosen.
    assert all(
        plan for step in plans.values() for text, plan in step.items() if "INSERT" not in text
    )
    assert plans["read-write_range=10"].keys() == TRANSACTION
    # Nothing was executed.
    assert every_database.rows("SELECT count(*), sum(k), max(id) FROM sbtest1") == before


def test_equal_plans_are_equal_texts_whatever_the_keys(every_database: Database) -> None:
    connection = every_database.connection
    steps = ("point-query", "range-notcovered-pk_range=100", "random-points", "write-only")
    first, second = (explained("sysbench", steps, connection, seed) for seed in (7, 8))
    # Values of conditions and estimates of rows are in what the servers say.
    assert (first == second) == (connection.driver == "sqlite")
    assert read_plans(first) == read_plans(second)


def test_an_index_that_is_gone_is_another_plan(database: Database) -> None:
    def plan() -> str:
        found = read_plans(explained("sysbench", ("range-covered-si",), database.connection))
        ((plan,),) = (plans.values() for plans in found.values())
        return plan

    match database:
        case PostgresDatabase():
            database.do("VACUUM ANALYZE sbtest1")
            before = plan()
            database.do("DROP INDEX k_1")
        case MySQLDatabase():
            before = plan()
            database.do("DROP INDEX k_1 ON sbtest1")
        case _:
            before = plan()
            database.rows("DROP INDEX k_1")
    assert "k_" in before
    assert "k_" not in plan()


@pytest.fixture(params=["postgres", "mariadb", "mysql", "sqlite"])
def queue(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A loaded queue of the Insert Benchmark with its indexes; none is left behind."""
    with ExitStack() as closing:
        connection = opened(request.param, request, closing).connection
        run(inserts("l.i0", "l.x"), connection)
        yield connection
        options = (*connection_options(connection), "--clients=1", "cleanup")
        assert run_script(SCRIPTS / "insert_benchmark.lua", *options).returncode == 0


def test_the_insert_benchmark_asks_all_its_ways(queue: Connection) -> None:
    plans = read_plans(explained("insert_benchmark", ("l.i1", "qr100", "qp100"), queue))
    assert {"l.i1", "qr100", "qp100"} <= plans.keys()
    selects = {text: plan for text, plan in plans["qr100"].items() if text.startswith("SELECT")}
    ranges = [plan for text, plan in selects.items() if "ORDER BY" in text]
    assert len(set(ranges)) == len(ranges) == 3
    assert [text for text in plans["l.i1"] if text.startswith("DELETE")]
    assert any("= ?" in text for text in plans["qp100"])


RECORDED = "\n".join(
    (
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)",
        "nightshift plan dialect=pgsql step=a statement=SELECT k FROM sbtest# WHERE k IN (?)",
        "nightshift plan-row Index Only Scan using k_3 on sbtest3",
        "nightshift plan-row   Index Cond: (k = ANY ('{17,-4}'::integer[]))",
        "nightshift plan dialect=mysql step=b statement=SELECT c FROM sbtest# WHERE id = ?",
        "nightshift plan-row 1\tSIMPLE\tsbtest2\t\tconst\tPRIMARY\tPRIMARY\t4\tconst\t1\t100.00\t",
        "nightshift plan dialect=mysql step=c statement=SELECT c FROM sbtest# WHERE id = ?",
        "nightshift plan-row 1\tSIMPLE\tsbtest2\tconst\tPRIMARY\tPRIMARY\t4\tconst\t1\tUsing where",
        "nightshift plan dialect=sqlite step=d statement=DELETE FROM purchases# WHERE a = ?",
        "nightshift plan-row 3\t0\t0\tSEARCH purchases12 USING INDEX purchases12_i2 (a=?)",
        "nightshift plan dialect=sqlite step=d statement=INSERT INTO sbtest# VALUES (?)",
    )
)


def test_releases_of_sqlite_that_say_table_have_the_same_plan() -> None:
    """The forms of 3.31.1 and of 3.46.0, recorded."""
    head = "nightshift plan dialect=sqlite step=a statement=SELECT c\nnightshift plan-row 2\t0\t0\t"
    old, new = (
        read_plans(head + reported)["a"]["SELECT c"]
        for reported in (
            "SEARCH TABLE sbtest1 USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
            "SEARCH sbtest1 USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        )
    )
    assert old == new == "SEARCH sbtest USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"


def test_releases_of_postgres_that_name_a_subquery_apart_have_the_same_plan() -> None:
    """The forms of 16 and of 17, recorded."""
    head = "nightshift plan dialect=pgsql step=a statement=SELECT c\nnightshift plan-row "
    old, new = (
        read_plans(f"{head}{line}")
        for line in (
            "  InitPlan 1 (returns $0)",
            "  InitPlan 1",
        )
    )
    assert old == new


def test_what_was_recorded_is_read_without_numbers() -> None:
    assert read_plans(RECORDED) == {
        "a": {
            "SELECT k FROM sbtest# WHERE k IN (?)": "Index Only Scan using k_ on sbtest\n"
            "  Index Cond: (k = ANY ('{?}'::integer[]))"
        },
        "b": {
            "SELECT c FROM sbtest# WHERE id = ?": "select_type=SIMPLE table=sbtest type=const"
            " key=PRIMARY key_len=4 ref=const"
        },
        "c": {
            "SELECT c FROM sbtest# WHERE id = ?": "select_type=SIMPLE table=sbtest type=const"
            " key=PRIMARY key_len=4 ref=const Using where"
        },
        "d": {
            "DELETE FROM purchases# WHERE a = ?": "SEARCH purchases USING INDEX purchases_i2 (a=?)",
            "INSERT INTO sbtest# VALUES (?)": "",
        },
    }
