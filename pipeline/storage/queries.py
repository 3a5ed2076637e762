"""Run people's own queries on the views of the store, over connections that cannot write.

The connection to SQLite is opened for reading (``mode=ro``, ``query_only``), and an authorizer
refuses every statement that does more than read, such as ATTACH or PRAGMA. On PostgreSQL the query
is a cursor in a read-only transaction. The views are temporary: nothing of them is stored.

Positions on lines follow from ``nightshift.toml`` and states of regressions from the journal. A
connection gets both as temporary tables when it is opened, so that neither is stored twice.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, get_type_hints

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    MetaData,
    NullPool,
    String,
    Table,
    create_engine,
    insert,
    text,
)
from sqlalchemy.exc import DBAPIError

from pipeline.measure.plan import Line
from pipeline.storage.database import read_only_address
from pipeline.storage.views import (
    IDENTITY_COLUMNS,
    LINE_CELL,
    LINE_REVISION,
    RUN_COLUMNS,
    store_sources,
    view_definitions,
)
from pipeline.text.errors import UserError, first_line

VIEWS = ("measurement", "series_point", "regression", "run", "step_second", "function_cost")
"""The documented views."""

_READS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
"""What SQLite's authorizer allows."""

_BEGINS = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w+|.)", re.DOTALL)
"""The first word of a statement, behind blanks, comments and parentheses."""

_INSTRUCTIONS = 1_000_000
"""Instructions of SQLite between two looks at Python's signals, so that Ctrl-C ends a query."""

_JOINED = 30
"""The number of tables up to which PostgreSQL chooses the order of joins itself. The views join
more than its usual eight."""


class RegressionRow(NamedTuple):
    """A row of the view ``regression``: one series of one regression or improvement."""

    fingerprint: str
    state: str
    kind: str
    direction: str
    cause: str
    target: str
    line: str
    last_good: str
    first_bad: str
    position: int
    found_at: str
    culprit: str | None
    recovers: str | None
    decided_by: str | None
    decided_at: str | None
    expires: str | None
    note: str
    reason: str
    worst: bool
    workload: str
    workload_hash: str
    clients: int
    mode: str
    config: str
    build_options: str
    machine_class: str
    step: str
    metric: str
    level_before: float
    level_after: float
    effect: float
    effect_low: float
    effect_high: float
    pvalue: float


class Answer(NamedTuple):
    """The rows of a query; ``more`` says that the limit left further rows out."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    more: bool


class _Cursor(Protocol):
    """The part of a driver's cursor that a query needs."""

    @property
    def description(self) -> Sequence[Sequence[Any]] | None: ...

    def execute(self, query: Any, /) -> object: ...

    def fetchmany(self, size: int, /) -> list[Any]: ...


_TYPES = {int: Integer, float: Float, bool: Boolean}
_TEMPORARY = MetaData()
_REGRESSION = Table(
    "regression",
    _TEMPORARY,
    *(
        Column(name, _TYPES.get(kind, String))
        for name, kind in get_type_hints(RegressionRow).items()
    ),
    prefixes=["TEMPORARY"],
)
_LINE_REVISION = Table(
    LINE_REVISION,
    _TEMPORARY,
    Column("line", String, primary_key=True),
    Column("revision", String, primary_key=True),
    Column("position", Integer),
    prefixes=["TEMPORARY"],
)
_LINE_CELL = Table(
    LINE_CELL,
    _TEMPORARY,
    Column("line", String, primary_key=True),
    Column("cell_key", String, primary_key=True),
    prefixes=["TEMPORARY"],
)


TEMPORARY_TABLES = (_REGRESSION, _LINE_REVISION, _LINE_CELL)
"""The tables of what the plan and the journal know."""


def ask(
    store: Engine,
    query: str,
    limit: int,
    lines: Sequence[Line] = (),
    regressions: Sequence[RegressionRow] = (),
) -> Answer:
    """Return at most ``limit`` rows of a query on the views of an open store.

    ``lines`` are the lines of ``series_point``, ``regressions`` the rows of ``regression``. Raises
    UserError for a query that does not read, or that the database refuses.
    """
    statement = query.strip().rstrip(";").strip()
    if not statement:
        raise UserError('the query is empty; give one, as "SELECT * FROM run LIMIT 5"')
    begins = _BEGINS.match(statement)
    if begins is None or begins[1].upper() not in {"SELECT", "WITH", "VALUES", "EXPLAIN"}:
        word = begins[1] if begins is not None else statement
        raise UserError(
            f"a query begins with SELECT, WITH or VALUES, not {word}: queries can only read"
        )
    with opened(store, lines, regressions) as cursor:
        try:
            cursor.execute(statement)
            columns = tuple(str(column[0]) for column in cursor.description or ())
            rows = cursor.fetchmany(limit + 1)
        except (store.dialect.loaded_dbapi.Error, sqlite3.Warning) as error:
            raise UserError(_refusal(error)) from error
    return Answer(columns, [tuple(row) for row in rows[:limit]], len(rows) > limit)


@contextmanager
def opened(
    store: Engine, lines: Sequence[Line], regressions: Sequence[RegressionRow]
) -> Iterator[_Cursor]:
    """Open a cursor of the driver that sees the views and cannot write.

    Raises UserError if the database refuses temporary views.
    """
    sqlite = store.dialect.name == "sqlite"
    engine = _reader(Path(store.url.database or "")) if sqlite else store
    try:
        with engine.connect() as connection:
            _add_views(connection, lines, regressions)
            driver: Any = connection.connection.driver_connection
            if sqlite:
                connection.commit()
                driver.execute("PRAGMA query_only=ON")
                driver.set_progress_handler(lambda: 0, _INSTRUCTIONS)
                driver.set_authorizer(_authorize)
                yield driver.cursor()
            else:
                connection.execute(text("SET TRANSACTION READ ONLY"))
                # A cursor of the server: one statement, which returns rows.
                with driver.cursor(name="nightshift_query") as cursor:
                    yield cursor
    except DBAPIError as error:
        raise UserError(
            f"the views of the store cannot be made ({first_line(error.orig or error)}); check "
            "that its user may create temporary tables"
        ) from error
    finally:
        if sqlite:
            engine.dispose()


def _reader(path: Path) -> Engine:
    """Return an engine whose connections open a SQLite store for reading only."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(read_only_address(path), uri=True)
        connection.execute("PRAGMA temp_store=MEMORY")
        return connection

    return create_engine("sqlite://", creator=connect, poolclass=NullPool)


def _add_views(
    connection: Connection, lines: Sequence[Line], regressions: Sequence[RegressionRow]
) -> None:
    """Create the temporary tables and views; PostgreSQL drops them at the end of the transaction.

    A temporary view hides the table of the same name from unqualified names.
    """
    postgresql = connection.dialect.name == "postgresql"
    schema = "main"
    if postgresql:
        schema = str(connection.scalar(text("SELECT quote_ident(current_schema())")))
        connection.execute(text(f"SET LOCAL join_collapse_limit = {_JOINED}"))
        connection.execute(text(f"SET LOCAL from_collapse_limit = {_JOINED}"))
        connection.execute(text("SET LOCAL TIME ZONE 'UTC'"))
    _TEMPORARY.create_all(connection, checkfirst=False)
    for table, rows in temporary_rows(lines, regressions):
        if rows:
            connection.execute(insert(table), rows)
    for name, query in view_definitions(store_sources(schema, postgresql)).items():
        connection.exec_driver_sql(f"CREATE TEMPORARY VIEW {name} AS {query}")


def view_columns() -> dict[str, tuple[str, ...]]:
    """Return the columns of every documented view."""
    flat = ("step", "step_group", "unit")
    return {
        "run": RUN_COLUMNS,
        "measurement": (
            *IDENTITY_COLUMNS,
            *flat,
            *("place", "status", "disturbed", "metric", "value"),
        ),
        "series_point": ("line", "position", *IDENTITY_COLUMNS, *flat, "metric", "value"),
        "step_second": (*IDENTITY_COLUMNS, *flat, "place", "second", "qps", "latency_ms"),
        "function_cost": (
            *IDENTITY_COLUMNS,
            *flat,
            *("place", "function", "program", "self_cost", "inclusive_cost"),
        ),
        "regression": RegressionRow._fields,
    }


def temporary_rows(
    lines: Sequence[Line], regressions: Sequence[RegressionRow]
) -> list[tuple[Table, list[dict[str, Any]]]]:
    """Return the rows of each of the ``TEMPORARY_TABLES``."""
    return [
        (_REGRESSION, [row._asdict() for row in regressions]),
        (_LINE_REVISION, _revisions(lines)),
        (_LINE_CELL, _cells(lines)),
    ]


def _revisions(lines: Sequence[Line]) -> list[dict[str, Any]]:
    return [
        {"line": line.name, "revision": label, "position": position}
        for line in lines
        for label, position in line.positions.items()
    ]


def _cells(lines: Sequence[Line]) -> list[dict[str, Any]]:
    pairs = dict.fromkeys((line.name, cell.key) for line in lines for cell in line.cells)
    return [{"line": name, "cell_key": key} for name, key in pairs]


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    """Allow SQLite only to read: its authorizer."""
    loads = action == sqlite3.SQLITE_FUNCTION and second == "load_extension"
    return sqlite3.SQLITE_OK if action in _READS and not loads else sqlite3.SQLITE_DENY


def _refusal(error: Exception) -> str:
    """Say in one line why the database refused a query, and what to do."""
    why = first_line(error)
    if why in ("not authorized", "authorization denied") or "prohibited" in why:
        return "the query does more than read; use SELECT, WITH and VALUES on the views"
    return (
        f'the query failed: {why}; the views are {", ".join(VIEWS)}, and `nightshift sql "SELECT * '  # noqa: S608
        'FROM run" --limit 1` shows the columns of one'
    )


def value_text(value: Any) -> str:
    """Format a value of a row for a table or a CSV file; nothing for a missing one."""
    if value is None:
        return ""
    if isinstance(value, datetime | date):
        return value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
    return str(value)
