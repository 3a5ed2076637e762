"""Every step on every kind of DBMS: what sysbench counts, and what it leaves out.

What the statements read and change is in ``test_sysbench_oracle.py``.
"""

import re

import pytest

from pipeline.workloads.sysbench import catalogue
from pipeline.workloads.sysbench.parse import parse_output
from tests.cases import every_case
from tests.workloads.databases import Database, Row
from tests.workloads.sysbench_runner import ROWS, Sysbench, events, totals

EVENTS = 10


@pytest.fixture
def sysbench(database: Database) -> Sysbench:
    return Sysbench(database.connection)


def rows_of(database: Database, table: int = 1) -> dict[int, Row]:
    return {row[0]: row for row in database.rows(f"SELECT id, k, c, pad FROM sbtest{table}")}


@every_case("spec", catalogue.STEPS, ids=lambda spec: spec.name)
def test_every_step_executes_the_statements_that_the_catalogue_says(
    sysbench: Sysbench, spec: catalogue.Microbenchmark
) -> None:
    output = sysbench.step(spec, "--warmup=0", *events(EVENTS))
    counted = totals(output)
    assert counted["events"] == EVENTS
    queries = counted["reads"] + counted["writes"] + counted["other"]
    assert queries == EVENTS * spec.statements_per_event
    parsed = parse_output(output, spec, ROWS)
    assert parsed.operations == (EVENTS * ROWS if spec.lua_step == "scan" else queries)
    assert parsed.errors == 0


def test_load_depends_on_the_seed_alone(sysbench: Sysbench, database: Database) -> None:
    first = rows_of(database)
    options = (f"--table-size={ROWS}", "--tables=4", "--threads=2")
    assert sysbench("prepare", *options).returncode == 0
    assert rows_of(database) == first
    fourth = rows_of(database, 4)
    assert fourth != first
    assert sysbench("prepare", *options, "--threads=3").returncode == 0
    assert rows_of(database, 4) == fourth
    assert sysbench("prepare", *options, "--rand-seed=8").returncode == 0
    assert rows_of(database) != first


def test_cleanup_drops_the_tables(sysbench: Sysbench, database: Database) -> None:
    assert sysbench("cleanup").returncode == 0
    with pytest.raises(Exception, match=r"no such table|does not exist|doesn't exist"):
        rows_of(database)


def test_warm_up_is_not_among_the_events(sysbench: Sysbench) -> None:
    spec = catalogue.step_named("point-query_range=100")
    output = sysbench.step(spec, "--warmup=0.05", *events(100))
    warm = re.search(r"nightshift warmup thread=0 events=(\d+) errors=0 seconds=(\S+)", output)
    assert warm is not None
    assert int(warm[1]) > 0
    assert float(warm[2]) >= 0.05
    counted = totals(output)
    assert counted["events"] == 100
    assert counted["reads"] == 100 + int(warm[1])
    assert parse_output(output, spec, ROWS).operations == 100


def test_no_thread_starts_before_all_are_warm(sysbench: Sysbench) -> None:
    spec = catalogue.step_named("update-nonindex_range=100")
    output = sysbench.step(spec, "--threads=3", "--warmup=0.05", *events(30))
    before, after = output.split("Threads started!")
    assert sorted(re.findall(r"nightshift warmup thread=(\d)", before)) == ["0", "1", "2"]
    assert "warmup" not in after
    assert totals(output)["events"] == 30


def test_measured_keys_do_not_depend_on_the_warm_up(sysbench: Sysbench, database: Database) -> None:
    spec = catalogue.step_named("insert_range=100")

    def last_rows() -> list[Row]:
        return database.rows("SELECT k, c, pad FROM sbtest1 ORDER BY id DESC LIMIT 30")

    sysbench.step(spec, "--warmup=0", *events(30))
    cold = last_rows()
    sysbench.step(spec, "--warmup=0.05", *events(30))
    assert last_rows() == cold
    sysbench.step(spec, "--rand-seed=8", *events(30))
    assert last_rows() != cold


def test_threads_share_the_tables_and_repeat_what_collides(sysbench: Sysbench) -> None:
    options = ("--tables=4", "--threads=4")
    assert sysbench("prepare", f"--table-size={ROWS}", *options).returncode == 0
    for name in ("read-write_range=10", "scan_range=100"):
        spec = catalogue.step_named(name)
        output = sysbench.step(spec, *options, *events(40))
        parsed = parse_output(output, spec, ROWS)
        assert parsed.operations == 40 * spec.operations_per_event(ROWS)


def test_the_timeline_of_a_timed_run(sysbench: Sysbench) -> None:
    spec = catalogue.step_named("point-query_range=100")
    output = sysbench.step(spec, "--time=2", "--report-interval=1")
    parsed = parse_output(output, spec, ROWS)
    assert parsed.timeline
    assert all(each.ops_per_second > 0 and each.latency_ms for each in parsed.timeline)
    assert parsed.seconds >= 2


def test_a_statement_that_fails_ends_sysbench_with_an_error(
    sysbench: Sysbench, database: Database
) -> None:
    said = database.close_to_new_ids(ROWS)
    spec = catalogue.step_named("insert_range=100")
    done = sysbench("run", "--step=insert", f"--table-size={ROWS}", *events(5))
    assert done.returncode != 0
    with pytest.raises(ValueError, match=said):
        parse_output(done.stdout, spec, ROWS)
