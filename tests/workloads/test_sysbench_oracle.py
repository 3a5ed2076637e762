"""What every step gets from every DBMS, statement by statement, is what it is to get.

The right answers are computed from the rows of the tables; see ``oracle.py``.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from pipeline.model import Connection, Step
from pipeline.workloads.base.sysbench import connection_options
from pipeline.workloads.sysbench import catalogue
from pipeline.workloads.sysbench.catalogue import Microbenchmark
from pipeline.workloads.sysbench.family import SCRIPTS
from pipeline.workloads.sysbench.family import Sysbench as Family
from tests.workloads.databases import Database, SQLiteFile
from tests.workloads.oracle import EVENTS, Executed, Table, Value, check_keys, read_log
from tests.workloads.sysbench_runner import ROWS, Sysbench, events, run_script

TABLES = 2
SHORT = 10
"""Events of most steps."""
LONG = {"delete": ROWS, "update-zipf": 400, "update-index": 400, "write-only": 400}
"""Events of those that are to meet a row again."""

DRAWS, BINS = 4000, 20
ZIPF = "update-zipf_range=100"

Drawn = dict[str, list[tuple[str, tuple[Value, ...]]]]


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    """What the first DBMS was asked in each step."""
    return {}


@pytest.fixture
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of a step that is run by oracle.lua."""
    log = tmp_path / "log"
    monkeypatch.setenv("ORACLE_SCRIPTS", str(SCRIPTS))
    monkeypatch.setenv("ORACLE_LOG", str(log))
    return log


def tables_of(database: Database) -> dict[int, Table]:
    return {
        number: Table(
            {
                row[0]: (row[0], row[1], row[2].rstrip(), row[3].rstrip())
                for row in database.rows(f"SELECT id, k, c, pad FROM sbtest{number}")
            }
        )
        for number in range(1, TABLES + 1)
    }


def executed(
    connection: Connection, spec: Microbenchmark, log: Path, count: int
) -> list[list[Executed]]:
    """Return the statements of each event of a step."""
    done = run_script(
        Path(__file__).with_name("oracle.lua"),
        *connection_options(connection),
        f"--tables={TABLES}",
        f"--table-size={ROWS}",
        "--rand-seed=7",
        "--rand-type=uniform",
        f"--step={spec.lua_step}",
        f"--range={spec.range}",
        *events(count),
        "run",
    )
    assert done.returncode == 0, done.stdout
    found = read_log(log.read_text())
    assert len(found) == count
    return found


def test_every_step_is_known_here() -> None:
    assert set(EVENTS) == {spec.lua_step for spec in catalogue.STEPS}
    for spec in catalogue.STEPS:
        assert len(EVENTS[spec.lua_step]) == spec.statements_per_event


def test_every_answer_and_every_write_is_right(
    every_database: Database, logged: Path, drawn: Drawn
) -> None:
    """Tables are loaded once, and anew behind a step that took rows or that failed."""
    sysbench = Sysbench(every_database.connection)
    size = (f"--table-size={ROWS}", f"--tables={TABLES}")
    tables: dict[int, Table] = {}
    failures: list[Exception] = []
    for spec in catalogue.STEPS:
        if not tables:
            assert sysbench("prepare", *size).returncode == 0
            tables = tables_of(every_database)
        try:
            check_step(every_database, spec, logged, tables, drawn)
        except (AssertionError, KeyError, ValueError) as error:
            error.add_note(f"step {spec.name}")
            failures.append(error)
            tables = {}
        if spec.lua_step == "delete":
            # Which number a new row gets behind the last one that is gone, DBMSs do not agree on.
            tables = {}
    if failures:
        raise ExceptionGroup(f"{len(failures)} steps failed", failures)


def check_step(
    database: Database, spec: Microbenchmark, log: Path, tables: dict[int, Table], drawn: Drawn
) -> None:
    """Run a step, and do to ``tables`` what it is to do to those of the database."""
    before = {number: dict(table.rows) for number, table in tables.items()}
    found = executed(database.connection, spec, log, LONG.get(spec.lua_step, SHORT))
    for event in found:
        check_keys(spec.lua_step, spec.range, ROWS, event)
        for statement in event:
            if "sbtest" in statement.text:
                tables[statement.table].check(statement)
    after = {number: table.rows for number, table in tables_of(database).items()}
    assert after == {number: table.rows for number, table in tables.items()}
    step = Step(name=spec.name, group=spec.group, unit=spec.unit.value)
    assert (after == before) == Family().repeatable(step)
    asked = [(statement.text, statement.values) for event in found for statement in event]
    assert asked == drawn.setdefault(spec.name, asked), "another DBMS was asked something else"


def keys(connection: Connection, name: str, log: Path) -> list[tuple[int, int]]:
    """The table and the id of each of many events; the seed is fixed."""
    found = executed(connection, catalogue.step_named(name), log, DRAWS)
    return [(event[0].table, int(event[0].values[-1])) for event in found]


def test_keys_and_tables_are_drawn_evenly(loaded_sqlite: SQLiteFile, logged: Path) -> None:
    sysbench = Sysbench(loaded_sqlite.connection)
    assert sysbench("prepare", f"--table-size={ROWS}", f"--tables={TABLES}").returncode == 0
    found = keys(loaded_sqlite.connection, "update-nonindex_range=100", logged)
    cells = Counter((table, (number - 1) * BINS // ROWS) for table, number in found)
    each = DRAWS / (TABLES * BINS)
    assert len(cells) == TABLES * BINS
    chi_square = sum((count - each) ** 2 / each for count in cells.values())
    freedom = TABLES * BINS - 1
    assert chi_square < freedom + 5 * math.sqrt(2 * freedom)


def test_zipfian_keys_have_the_weights_of_their_ranks(
    loaded_sqlite: SQLiteFile, logged: Path
) -> None:
    sysbench = Sysbench(loaded_sqlite.connection)
    assert sysbench("prepare", f"--table-size={ROWS}", f"--tables={TABLES}").returncode == 0
    found = Counter(number for _, number in keys(loaded_sqlite.connection, ZIPF, logged))
    weights = [rank**-0.99 for rank in range(1, ROWS + 1)]
    shares = [weight / sum(weights) for weight in weights]
    # Counts vary by their root, as those of rare events do.
    different = sum(1 - (1 - share) ** DRAWS for share in shares)
    assert abs(len(found) - different) < 5 * math.sqrt(different)
    hottest = found.most_common(3)
    for (_, count), share in zip(hottest, shares, strict=False):
        assert abs(count - DRAWS * share) < 5 * math.sqrt(DRAWS * share)
    ids = sorted(number for number, _ in hottest)
    assert min(b - a for a, b in pairwise(ids)) > ROWS / 100, "hot rows share a page"
