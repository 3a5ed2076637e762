"""What is special about sysbench with SQLite in it: rows, columns, garbage, waiting and errors."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipeline.model import Connection
from pipeline.workloads.base.sysbench import connection_options
from pipeline.workloads.sysbench import catalogue
from pipeline.workloads.sysbench.family import SCRIPTS
from pipeline.workloads.sysbench.parse import parse_output
from tests.cases import every_case
from tests.workloads.databases import SQLiteFile
from tests.workloads.sysbench_runner import ROWS, Sysbench, events, run_script, totals

FEW, MANY = 10, 110
EVENTS = MANY - FEW


@pytest.fixture
def connection(loaded_sqlite: SQLiteFile) -> Connection:
    return loaded_sqlite.connection


@pytest.fixture
def sysbench(connection: Connection) -> Sysbench:
    return Sysbench(connection)


@pytest.fixture
def counting(connection: Connection, tmp_path: Path) -> Sysbench:
    """A library before the one under test that counts what is done with it."""
    shim, real = tmp_path / "libcounting.so", Path(connection.program)
    subprocess.run(
        [
            *(
                "gcc",
                "-shared",
                "-fPIC",
                "-o",
                str(shim),
                str(Path(__file__).parent / "counting.c"),
            ),
            *("-Wl,--no-as-needed", str(real), f"-Wl,-rpath,{real.parent}"),
        ],
        check=True,
    )
    return Sysbench(connection.model_copy(update={"program": str(shim)}))


def counted(sysbench: Sysbench, name: str, count: int) -> Mapping[str, int]:
    output = sysbench.step(catalogue.step_named(name), "--warmup=0", *events(count))
    line = re.search(r"^counted (.*)$", output, re.MULTILINE)
    assert line is not None
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line[1])}


# Per event: the smallest and largest number of rows, and whether a row is an integer, a text or
# both. Ranges end at the table's end, and random lists name some rows twice.
READS: dict[str, tuple[tuple[float, float], str]] = {
    "point-query_range=100": ((1, 1), "text"),
    "hot-points_range=100": ((100, 100), "text"),
    "random-points_range=10": ((9, 10), "text"),
    "random-points_range=100": ((90, 100), "text"),
    "random-points_range=1000": ((750, 820), "text"),
    "points-covered-pk_range=100": ((90, 100), "integer"),
    "points-covered-si_range=100": ((60, 150), "integer"),
    "points-notcovered-pk_range=100": ((90, 100), "both"),
    "points-notcovered-si_range=100": ((60, 150), "both"),
    "range-covered-pk_range=100": ((90, 101), "integer"),
    "range-covered-si_range=100": ((60, 150), "integer"),
    "range-notcovered-pk_range=100": ((90, 101), "both"),
    "range-notcovered-si_range=100": ((60, 150), "both"),
    "scan_range=100": ((0, 0), "both"),
    "read-only-simple_range=1000": ((10 + 600, 10 + 1000), "text"),
    "read-only-order_range=1000": ((10 + 600, 10 + 1000), "text"),
    "read-only-distinct_range=1000": ((10 + 600, 10 + 1000), "text"),
    "read-only-count_range=1000": ((1, 1), "integer"),
}


@every_case(
    "spec",
    # Those that write come last: the counts of rows are those of what was loaded.
    sorted(catalogue.STEPS, key=lambda spec: spec.group == catalogue.WRITE),
    ids=lambda spec: spec.name,
)
def test_statements_are_prepared_once_and_reset_and_every_row_and_column_is_fetched(
    counting: Sysbench, spec: catalogue.Microbenchmark
) -> None:
    """One that is not reset would keep what it has read from leaving the log."""
    few, many = (counted(counting, spec.name, count) for count in (FEW, MANY))
    assert many["prepared"] == few["prepared"]
    assert many["resets"] - few["resets"] == EVENTS * spec.statements_per_event
    if spec.name not in READS:
        return
    each = {key: (many[key] - few[key]) / EVENTS for key in many}
    (least, most), kind = READS[spec.name]
    assert least <= each["rows"] <= most
    assert each["integers"] == (0 if kind == "text" else each["rows"])
    assert each["texts"] == (0 if kind == "integer" else each["rows"])


def test_every_read_that_is_counted_is_a_step() -> None:
    assert READS.keys() <= {spec.name for spec in catalogue.STEPS}


def scripted(folder: Path, script: str, connection: Connection, name: str, count: int) -> str:
    """Run a step's events by a script that stands around ours, and return the output."""
    path = folder / "around.lua"
    path.write_text(script % SCRIPTS)
    spec = catalogue.step_named(name)
    step = (f"--step={spec.lua_step}", f"--range={spec.range}", f"--table-size={ROWS}")
    options = (*connection_options(connection), *step, *events(count), "--histogram=on")
    done = run_script(path, *options, "run")
    assert done.returncode == 0, done.stdout
    return done.stdout


GARBAGE = """
dofile("%s/nightshift.lua")
local run, done, before = event, 0, 0
function event()
   run()
   done = done + 1
   if done == 2000 then
      collectgarbage()
      collectgarbage("stop")
      before = collectgarbage("count")
   elseif done == 3000 then
      print(("garbage of %%.3f KB"):format(collectgarbage("count") - before))
   end
end
"""


@pytest.mark.parametrize(
    "name",
    [
        "point-query_range=100",
        "random-points_range=100",
        "read-only_range=10",
        "update-zipf_range=100",
    ],
)
def test_the_measured_loop_makes_no_garbage(
    connection: Connection, tmp_path: Path, name: str
) -> None:
    found = re.search(r"garbage of (\S+) KB", scripted(tmp_path, GARBAGE, connection, name, 3000))
    assert found is not None
    # A branch that is taken often enough is compiled, once. A text for each event were 60 KB.
    assert float(found[1]) < 5


HELD = """
dofile("%s/nightshift.lua")
local run, tries, other = event, 0, nil
function event()
   tries = tries + 1
   if tries == 1 then
      other = require("sqlite").connect()
      other:query("BEGIN IMMEDIATE")
   elseif tries == 3 then
      other:query("COMMIT")
      other:close()
   end
   run()
end
"""


@pytest.mark.parametrize("name", ["update-one_range=100", "read-write_range=10"])
def test_a_client_that_waited_too_long_tries_its_event_again(
    connection: Connection, tmp_path: Path, name: str
) -> None:
    configuration = Path(connection.socket_dir).parent / "connection.sql"
    text = configuration.read_text().replace("busy_timeout = 10000", "busy_timeout = 1")
    configuration.write_text(text)
    output = scripted(tmp_path, HELD, connection, name, 1)
    assert totals(output)["events"] == 1
    spec = catalogue.step_named(name)
    parsed = parse_output(output, spec, ROWS)
    assert parsed.errors == 2
    assert parsed.operations == spec.statements_per_event


@pytest.mark.parametrize("name", ["update-one_range=100", "read-write_range=10"])
def test_clients_that_write_wait_for_each_other(sysbench: Sysbench, name: str) -> None:
    spec = catalogue.step_named(name)
    output = sysbench.step(spec, "--threads=4", "--time=0", "--events=1000")
    assert parse_output(output, spec, ROWS).errors == 0


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("--sqlite-library=/nowhere/libsqlite3.so", "/nowhere/libsqlite3.so: cannot open shared"),
        ("--sqlite-database=/nowhere/sbtest", "SQLite: unable to open database file"),
        ("--sqlite-configuration=/nowhere/a.sql", "/nowhere/a.sql: No such file"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(
    sysbench: Sysbench, option: str, complaint: str
) -> None:
    spec = catalogue.step_named("point-query_range=100")
    done = sysbench("run", "--step=point-query", option, *events(1))
    assert done.returncode != 0
    with pytest.raises(ValueError, match=re.escape(complaint)) as error:
        parse_output(done.stdout, spec, ROWS)
    assert "\n" not in str(error.value)
