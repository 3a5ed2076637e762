"""The database of the site: the store's views as one SQLite file, for queries in the browser.

The file is written in parts, which are scripts like the other data files, because a page opened
from disk can load nothing else. A query loads only the parts that it reads. So measurements are
ordered by step and metric: those of a series lie together.
"""

from __future__ import annotations

import base64
import errno
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, Engine, case, func, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from pipeline.measure.plan import Line, Plan
from pipeline.model import Frozen, StepStatus, digest
from pipeline.site.data import script
from pipeline.storage.queries import TEMPORARY_TABLES, RegressionRow, temporary_rows
from pipeline.storage.runs import contents
from pipeline.storage.schema import (
    function,
    function_cost,
    measurement,
    metric,
    run,
    step,
    step_run,
)
from pipeline.storage.views import (
    LINE_CELL,
    LINE_REVISION,
    RUN_COLUMNS,
    ViewSources,
    store_sources,
    view_definitions,
)

PART = 256 * 1024
"""Bytes in a part of the file. Larger parts load more than a query reads, smaller ones make many
files."""

NEWEST_TIMELINES = 2000
"""Number of newest step runs whose seconds the file has: some ten megabytes."""

NEWEST_COSTS = 500_000
"""Number of costs of functions in the file, those of the newest runs first."""

_ABOUT = "sql.json"
"""The file in a data folder that describes its database."""

_DISTURBED, _SLA_FAILED = 1, 2
"""The flags of a measurement."""

_TABLES = f"""
CREATE TABLE stored_run (id INTEGER PRIMARY KEY, {", ".join(RUN_COLUMNS)});
CREATE INDEX run_of_cell ON stored_run (cell_key);
CREATE TABLE stored_step (id INTEGER PRIMARY KEY, name, "group", unit);
CREATE TABLE stored_metric (id INTEGER PRIMARY KEY, name);
CREATE TABLE stored_function (id INTEGER PRIMARY KEY, name, "binary");
CREATE TABLE stored_measurement (step INTEGER, metric INTEGER, run INTEGER, place INTEGER,
    value REAL, flags INTEGER, PRIMARY KEY (step, metric, run, place)) WITHOUT ROWID;
CREATE TABLE stored_step_run (run INTEGER, step INTEGER, place INTEGER, timeline,
    PRIMARY KEY (step, run, place)) WITHOUT ROWID;
CREATE TABLE stored_cost (step INTEGER, function INTEGER, run INTEGER, place INTEGER,
    self_cost REAL, inclusive_cost REAL, PRIMARY KEY (step, function, run, place)) WITHOUT ROWID;
"""

_SOURCES = ViewSources(
    runs="stored_run",
    measured=f"""(SELECT run, step, place, metric, value, flags & {_DISTURBED} AS disturbed,
        CASE WHEN flags & {_SLA_FAILED} THEN '{StepStatus.SLA_FAILED.value}'
        ELSE '{StepStatus.OK.value}' END AS status FROM stored_measurement)""",  # noqa: S608
    step_runs="stored_step_run",
    costs="stored_cost",
    step="stored_step",
    metric="stored_metric",
    function="stored_function",
    line_revision=LINE_REVISION,
    line_cell=LINE_CELL,
    seconds="json_each(s.timeline) t",
    element="json_extract(t.value, '$[{}]')",
)


class SiteDatabase(Frozen):
    """What the page needs to know of the file: its bytes, and what it leaves out.

    ``content`` is a digest of everything that the file is made of; it is empty if a run of the
    store has no digest.
    """

    content: str
    size: int
    part: int
    timelines: int
    all_timelines: int
    costs: int
    all_costs: int


def write_database(
    folder: Path, store: Engine, plan: Plan, regressions: Sequence[RegressionRow]
) -> SiteDatabase:
    """Write the database into a folder of data files, with the engine that reads it.

    An equal database in a data folder beside it, of the site of an earlier night, is used again.
    """
    stored = contents(store)
    layout = [_TABLES, *view_definitions(_SOURCES).values(), NEWEST_TIMELINES, NEWEST_COSTS, PART]
    content = digest([stored, plan.hash, list(regressions), layout]) if stored else ""
    _write_engine(folder)
    made = _taken_over(folder, content) if content else None
    if made is None:
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            path = Path(scratch) / "site.db"
            counts = fill_database(path, store, plan.lines, regressions)
            size = path.stat().st_size
            with path.open("rb") as file:
                for number, part in enumerate(iter(lambda: file.read(PART), b"")):
                    _write(folder / f"sql-{number}.js", f"sql-{number}", base64.b64encode(part))
        made = SiteDatabase(
            content=content,
            size=size,
            part=PART,
            timelines=counts[0],
            all_timelines=counts[1],
            costs=counts[2],
            all_costs=counts[3],
        )
    (folder / _ABOUT).write_text(made.model_dump_json(), encoding="ascii")
    return made


def _taken_over(folder: Path, content: str) -> SiteDatabase | None:
    """Link the parts of an equal database into a folder; None if there is none."""
    for path in folder.parent.glob(f"data-*/{_ABOUT}"):
        try:
            made = SiteDatabase.model_validate_json(path.read_bytes())
            if made.content == content:
                for number in range(-(-made.size // made.part)):
                    name = f"sql-{number}.js"
                    os.link(path.with_name(name), folder / name)
                return made
        except (OSError, ValidationError):
            # Incomplete, or on a file system without links: the database is written anew.
            for part in folder.glob("sql-[0-9]*.js"):
                part.unlink()
    return None


def fill_database(
    path: Path, store: Engine, lines: Sequence[Line], regressions: Sequence[RegressionRow]
) -> tuple[int, int, int, int]:
    """Write the file; return the number of timelines in it and of all, and the same of costs.

    Raises OSError if the disk is full.
    """
    target = sqlite3.connect(path)
    try:
        target.execute("PRAGMA synchronous=OFF")
        target.execute("PRAGMA journal_mode=OFF")
        for table in TEMPORARY_TABLES:
            made = str(CreateTable(table).compile(dialect=sqlite.dialect()))
            target.execute(made.replace("TEMPORARY", ""))
        target.executescript(_TABLES)
        for table, rows in temporary_rows(lines, regressions):
            _insert(target, table.name, (tuple(row.values()) for row in rows))
        with store.connect() as connection:
            counts = _copy(connection, target)
        for name, query in view_definitions(_SOURCES).items():
            target.execute(f"CREATE VIEW {name} AS {query}")
        target.execute("ANALYZE")
        target.commit()
    except sqlite3.OperationalError as error:
        raise OSError(errno.EIO, str(error)) from error
    finally:
        target.close()
    return counts


def _copy(connection: Connection, target: sqlite3.Connection) -> tuple[int, int, int, int]:
    """Copy the store's rows in the order of their keys, so that pages are full."""
    postgresql = connection.dialect.name == "postgresql"
    schema = str(connection.scalar(select(func.current_schema()))) if postgresql else "main"
    runs = store_sources(schema, postgresql).runs
    columns = ", ".join(f"r.{name}" for name in ("id", *RUN_COLUMNS))
    found = _driver_rows(connection, f"SELECT {columns} FROM {runs} r")  # noqa: S608
    _insert(target, "stored_run", map(_plain, found))  # noqa: RUF100, S608
    for table in (step, metric, function):
        chosen = select(*(table.c[name] for name in _NAMED[table.name]))
        _insert(target, f"stored_{table.name}", _driver_rows(connection, chosen))
    place = (step_run.c.step, step_run.c.run, step_run.c.place)
    flags = case((step_run.c.disturbed.is_not(None), _DISTURBED), else_=0) + case(
        (step_run.c.status == StepStatus.SLA_FAILED.value, _SLA_FAILED), else_=0
    )
    measured = (
        select(
            step_run.c.step,
            measurement.c.metric,
            step_run.c.run,
            step_run.c.place,
            measurement.c.value,
            flags,
        )
        .join(measurement, measurement.c.step_run == step_run.c.id)
        .order_by(step_run.c.step, measurement.c.metric, step_run.c.run, step_run.c.place)
    )
    _insert(target, "stored_measurement", _driver_rows(connection, measured))
    newest = (
        select(step_run.c.id)
        .join(run, run.c.id == step_run.c.run)
        .order_by(run.c.started_at.desc(), step_run.c.id)
    )
    timelines = (
        select(step_run.c.run, step_run.c.step, step_run.c.place, step_run.c.timeline)
        .where(step_run.c.id.in_(newest.limit(NEWEST_TIMELINES)))
        .order_by(*place)
    )
    _insert(target, "stored_step_run", map(_plain, _driver_rows(connection, timelines)))
    first = (
        select(function_cost.c.step_run, function_cost.c.function)
        .join(step_run, step_run.c.id == function_cost.c.step_run)
        .join(run, run.c.id == step_run.c.run)
        .order_by(run.c.started_at.desc(), function_cost.c.step_run, function_cost.c.function)
        .limit(NEWEST_COSTS)
        .subquery()
    )
    costs = (
        select(
            step_run.c.step,
            function_cost.c.function,
            step_run.c.run,
            step_run.c.place,
            function_cost.c.self_cost,
            function_cost.c.inclusive_cost,
        )
        .join(step_run, step_run.c.id == function_cost.c.step_run)
        .join(
            first,
            (first.c.step_run == function_cost.c.step_run)
            & (first.c.function == function_cost.c.function),
        )
        .order_by(step_run.c.step, function_cost.c.function, step_run.c.run, step_run.c.place)
    )
    _insert(target, "stored_cost", _driver_rows(connection, costs))
    totals = [
        int(connection.execute(select(func.count()).select_from(table)).scalar_one())
        for table in (step_run, function_cost)
    ]
    return min(totals[0], NEWEST_TIMELINES), totals[0], min(totals[1], NEWEST_COSTS), totals[1]


_NAMED: Mapping[str, tuple[str, ...]] = {
    "step": ("id", "name", "group", "unit"),
    "metric": ("id", "name"),
    "function": ("id", "name", "binary"),
}


def _driver_rows(connection: Connection, query: Any) -> Iterable[tuple[Any, ...]]:
    """Return rows as the driver has them: SQLAlchemy's would take several times as long."""
    result = (
        connection.exec_driver_sql(query) if isinstance(query, str) else connection.execute(query)
    )
    cursor: Any = result.cursor
    rows: Iterable[tuple[Any, ...]] = iter(cursor)
    return rows


def _insert(target: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    columns = target.execute(f"SELECT * FROM {table} LIMIT 0").description  # noqa: S608
    marks = ", ".join("?" * len(columns))
    target.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row as a store on SQLite has it: times as text in UTC, and lists as JSON."""
    return tuple(
        value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
        if isinstance(value, datetime)
        else json.dumps(value)
        if isinstance(value, list | dict)
        else value
        for value in row
    )


def _write_engine(folder: Path) -> None:
    vendor = files("pipeline.site") / "vendor/sqljs"
    document = {
        "program": (vendor / "sql-wasm-browser.js").read_text(encoding="utf-8"),
        "worker": (files("pipeline.site") / "scripts/sql_worker.js").read_text(encoding="utf-8"),
        "wasm": base64.b64encode((vendor / "sql-wasm-browser.wasm").read_bytes()).decode(),
    }
    (folder / "sql-engine.js").write_text(script("sql-engine", document), encoding="ascii")


def _write(path: Path, name: str, part: bytes) -> None:
    path.write_text(script(name, {"bytes": part.decode()}), encoding="ascii")
