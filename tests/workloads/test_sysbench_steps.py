"""Every step on a real Postgres: what it executes, what it changes and what it leaves out."""

import re
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from pipeline.workloads.sysbench import catalogue
from pipeline.workloads.sysbench.parse import parse_output

from .sysbench_runner import Server, Sysbench

ROWS = 2000
EVENTS = 10
Counts = dict[str, int]


@pytest.fixture
def connection(postgres_server: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(
        host=str(postgres_server.socket_dir),
        port=postgres_server.port,
        user=postgres_server.user,
        dbname=postgres_server.database,
        autocommit=True,
    ) as open_connection:
        yield open_connection


@pytest.fixture
def sysbench(postgres_server: Server) -> Iterator[Sysbench]:
    """Sysbench with one loaded table; no sbtest table is left behind."""
    run = Sysbench(postgres_server)
    done = run("prepare", f"--table-size={ROWS}")
    assert done.returncode == 0, done.stdout
    yield run
    assert run("cleanup", "--tables=4").returncode == 0


def one(connection: psycopg.Connection, query: str) -> tuple[object, ...]:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row


def step(sysbench: Sysbench, spec: catalogue.StepSpec, *options: str) -> str:
    done = sysbench(
        "run", f"--step={spec.lua_step}", f"--range={spec.range}", f"--table-size={ROWS}", *options
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def events(count: int) -> tuple[str, str]:
    return f"--events={count}", "--time=0"


def totals(output: str) -> Counts:
    line = re.search(r"^nightshift total (.*)$", output, re.MULTILINE)
    assert line is not None
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)(?= |$)", line[1])}


@pytest.mark.parametrize("spec", catalogue.STEPS, ids=lambda spec: spec.name)
def test_every_step_executes_the_statements_that_the_catalogue_says(
    sysbench: Sysbench, spec: catalogue.StepSpec
) -> None:
    output = step(sysbench, spec, "--warmup=0", *events(EVENTS))
    counted = totals(output)
    assert counted["events"] == EVENTS
    queries = counted["reads"] + counted["writes"] + counted["other"]
    assert queries == EVENTS * spec.statements_per_event
    parsed = parse_output(output, spec, ROWS)
    assert parsed.operations == (EVENTS * ROWS if spec.lua_step == "scan" else queries)
    assert parsed.errors == 0


def test_load_makes_the_published_table(sysbench: Sysbench, connection: psycopg.Connection) -> None:
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


def checksum(connection: psycopg.Connection, table: int = 1) -> object:
    return one(connection, f"SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM sbtest{table} t")


def test_load_depends_on_the_seed_alone(sysbench: Sysbench, connection: psycopg.Connection) -> None:
    first = checksum(connection)
    options = (f"--table-size={ROWS}", "--tables=4", "--threads=2")
    assert sysbench("prepare", *options).returncode == 0
    assert checksum(connection) == first
    fourth = checksum(connection, 4)
    assert fourth != first
    assert sysbench("prepare", *options, "--threads=3").returncode == 0
    assert checksum(connection, 4) == fourth
    assert sysbench("prepare", *options, "--rand-seed=8").returncode == 0
    assert checksum(connection) != first


def test_cleanup_drops_the_tables(sysbench: Sysbench, connection: psycopg.Connection) -> None:
    assert sysbench("cleanup").returncode == 0
    assert one(connection, "SELECT to_regclass('sbtest1')") == (None,)


def rows_of(connection: psycopg.Connection) -> dict[int, tuple[object, ...]]:
    return {row[0]: row for row in connection.execute("SELECT id, k, c, pad FROM sbtest1")}


def changes(before: dict[int, tuple[object, ...]], after: dict[int, tuple[object, ...]]) -> Counts:
    """How many rows came, went, and differ in k, c and pad."""
    both = before.keys() & after.keys()
    return {
        "added": len(after.keys() - before.keys()),
        "gone": len(before.keys() - after.keys()),
        **{
            name: sum(before[i][column] != after[i][column] for i in both)
            for column, name in ((1, "k"), (2, "c"), (3, "pad"))
        },
    }


def exactly(**expected: int) -> Callable[[Counts], bool]:
    return lambda found: found == {"added": 0, "gone": 0, "k": 0, "c": 0, "pad": 0, **expected}


# 20 events hit 20 different rows of 2000 unless two coincide: bounds where they may.
WRITES: dict[str, Callable[[Counts], bool]] = {
    "update-inlist_range=100": lambda f: 1000 < f["c"] < 2000 and exactly(c=f["c"])(f),
    "update-index_range=100": lambda f: 15 < f["k"] <= 20 and exactly(k=f["k"])(f),
    "update-nonindex_range=100": lambda f: 15 < f["c"] <= 20 and exactly(c=f["c"])(f),
    "update-one_range=100": exactly(c=1),
    "update-zipf_range=100": lambda f: 5 < f["c"] <= 20 and exactly(c=f["c"])(f),
    # The update of c and the delete with insert each give c; the latter also k and pad.
    "write-only_range=10000": lambda f: (
        15 < f["pad"] <= 20
        and 30 < f["k"] <= 40
        and 30 < f["c"] <= 40
        and f["added"] == f["gone"] == 0
    ),
    "delete_range=100": lambda f: 15 < f["gone"] <= 20 and exactly(gone=f["gone"])(f),
    "insert_range=100": exactly(added=20),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_the_writes_change(
    sysbench: Sysbench, connection: psycopg.Connection, name: str
) -> None:
    before = rows_of(connection)
    step(sysbench, catalogue.step_named(name), *events(20))
    found = changes(before, rows_of(connection))
    assert WRITES[name](found), found


@pytest.mark.parametrize(
    "name", [spec.name for spec in catalogue.STEPS if spec.group != catalogue.WRITE]
)
def test_reads_change_nothing(
    sysbench: Sysbench, connection: psycopg.Connection, name: str
) -> None:
    before = rows_of(connection)
    step(sysbench, catalogue.step_named(name), *events(2))
    assert rows_of(connection) == before


def usage(connection: psycopg.Connection) -> Counts:
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


@pytest.mark.parametrize("name", READS)
def test_which_index_the_reads_use_and_how_far(
    sysbench: Sysbench, connection: psycopg.Connection, name: str
) -> None:
    connection.execute("VACUUM ANALYZE sbtest1")
    wait_for_clients(connection)
    before = usage(connection)
    step(sysbench, catalogue.step_named(name), *events(EVENTS))
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
    step(sysbench, catalogue.step_named("scan_range=100"), *events(EVENTS))
    assert eventually(lambda: usage(connection)["seq_scan"] == before["seq_scan"] + EVENTS)


def eventually(condition: Callable[[], bool]) -> bool:
    """Wait for the server's statistics, which a backend hands over when it ends."""
    deadline = time.monotonic() + 20
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


def test_warm_up_is_not_among_the_events(sysbench: Sysbench) -> None:
    spec = catalogue.step_named("point-query_range=100")
    output = step(sysbench, spec, "--warmup=0.05", *events(100))
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
    output = step(sysbench, spec, "--threads=3", "--warmup=0.05", *events(30))
    before, after = output.split("Threads started!")
    assert sorted(re.findall(r"nightshift warmup thread=(\d)", before)) == ["0", "1", "2"]
    assert "warmup" not in after
    assert totals(output)["events"] == 30


def test_measured_keys_do_not_depend_on_the_warm_up(
    sysbench: Sysbench, connection: psycopg.Connection
) -> None:
    spec = catalogue.step_named("insert_range=100")

    def last_rows() -> list[tuple[object, ...]]:
        return connection.execute(
            "SELECT k, c, pad FROM sbtest1 ORDER BY id DESC LIMIT 30"
        ).fetchall()

    step(sysbench, spec, "--warmup=0", *events(30))
    cold = last_rows()
    step(sysbench, spec, "--warmup=0.05", *events(30))
    assert last_rows() == cold
    step(sysbench, spec, "--rand-seed=8", *events(30))
    assert last_rows() != cold


def test_threads_share_the_tables_and_repeat_what_collides(sysbench: Sysbench) -> None:
    options = ("--tables=4", "--threads=4")
    assert sysbench("prepare", f"--table-size={ROWS}", *options).returncode == 0
    for name in ("read-write_range=10", "scan_range=100"):
        spec = catalogue.step_named(name)
        output = step(sysbench, spec, *options, *events(40))
        parsed = parse_output(output, spec, ROWS)
        assert parsed.operations == 40 * spec.operations_per_event(ROWS)


def test_the_timeline_of_a_timed_run(sysbench: Sysbench) -> None:
    spec = catalogue.step_named("point-query_range=100")
    output = step(sysbench, spec, "--time=2", "--report-interval=1")
    parsed = parse_output(output, spec, ROWS)
    assert parsed.timeline
    assert all(rate > 0 and latency > 0 for _, rate, latency in parsed.timeline)
    assert parsed.seconds >= 2


def test_a_statement_that_fails_ends_sysbench_with_an_error(
    sysbench: Sysbench, connection: psycopg.Connection
) -> None:
    connection.execute("ALTER TABLE sbtest1 ADD CONSTRAINT closed CHECK (id <= 2000)")
    spec = catalogue.step_named("insert_range=100")
    done = sysbench("run", "--step=insert", f"--table-size={ROWS}", *events(5))
    assert done.returncode != 0
    with pytest.raises(ValueError, match='violates check constraint "closed"'):
        parse_output(done.stdout, spec, ROWS)
