"""What only MySQL shows of the steps: types of columns, and how rows are found."""

from collections.abc import Mapping

import pytest

from pipeline.workloads.sysbench import catalogue
from tests.cases import every_case
from tests.workloads.databases import MySQLDatabase
from tests.workloads.sysbench_runner import ROWS, Sysbench, events

EVENTS = 10


@pytest.fixture
def sysbench(loaded_mysql: MySQLDatabase) -> Sysbench:
    return Sysbench(loaded_mysql.connection)


def test_load_makes_the_published_table(loaded_mysql: MySQLDatabase) -> None:
    assert loaded_mysql.rows("SELECT count(*), min(id), max(id) FROM sbtest1") == [(ROWS, 1, ROWS)]
    columns = loaded_mysql.rows(
        "SELECT column_name, column_type, column_key, extra FROM information_schema.columns"
        " WHERE table_name = 'sbtest1' ORDER BY ordinal_position"
    )
    assert columns == [
        ("id", "int", "PRI", "auto_increment"),
        ("k", "int", "MUL", ""),
        ("c", "char(120)", "", ""),
        ("pad", "char(60)", "", ""),
    ]
    indexes = "SELECT index_name, column_name FROM information_schema.statistics"
    found = loaded_mysql.rows(f"{indexes} WHERE table_name = 'sbtest1' ORDER BY 1")
    assert found == [("k_1", "k"), ("PRIMARY", "id")]
    made = "SELECT engine, table_collation FROM information_schema.tables"
    assert loaded_mysql.rows(f"{made} WHERE table_name = 'sbtest1'") == [
        ("InnoDB", "latin1_swedish_ci")
    ]


def handled(database: MySQLDatabase) -> Mapping[str, int]:
    """How often rows were looked for by a key, taken as an index's next, and taken in a scan."""
    rows = database.rows("SHOW GLOBAL STATUS LIKE 'Handler_read%'")
    return {str(name).removeprefix("Handler_read_"): int(value) for name, value in rows}


# Per event: the smallest and largest number of look-ups by a key, and of further rows of an
# index. Ranges end at the table's end, and random lists name some rows twice.
READS: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
    "point-query_range=100": ((1, 1), (0, 0)),
    "hot-points_range=100": ((100, 100), (0, 0)),
    "random-points_range=10": ((9, 10), (0, 0)),
    "points-covered-pk_range=100": ((90, 100), (0, 0)),
    "points-covered-si_range=100": ((90, 100), (50, 150)),
    "range-covered-pk_range=100": ((1, 1), (80, 104)),
    "range-covered-si_range=100": ((1, 1), (60, 150)),
    "range-notcovered-pk_range=100": ((1, 1), (80, 104)),
}


@every_case("name", READS)
def test_reads_use_an_index_and_how_far(
    sysbench: Sysbench, loaded_mysql: MySQLDatabase, name: str
) -> None:
    loaded_mysql.rows("ANALYZE TABLE sbtest1")
    before = handled(loaded_mysql)
    sysbench.step(catalogue.step_named(name), "--warmup=0", *events(EVENTS))
    after = handled(loaded_mysql)
    per_event = {key: (after[key] - before[key]) / EVENTS for key in after}
    (key_least, key_most), (next_least, next_most) = READS[name]
    assert key_least <= per_event["key"] <= key_most, per_event
    assert next_least <= per_event["next"] <= next_most, per_event


def test_scan_reads_the_whole_table(sysbench: Sysbench, loaded_mysql: MySQLDatabase) -> None:
    before = handled(loaded_mysql)
    sysbench.step(catalogue.step_named("scan_range=100"), "--warmup=0", *events(EVENTS))
    scanned = handled(loaded_mysql)["rnd_next"] - before["rnd_next"]
    assert EVENTS * ROWS <= scanned < EVENTS * ROWS * 1.2
