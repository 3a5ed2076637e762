"""The sysbench steps as SQL text, for scripts that run without sysbench.

The statements are those of the Lua scripts, which ``tests/workloads/test_plain_sql.py`` compares
with them. Keys are computed from one random key per event, ``$1``. Updates of the fixed-length text
write a number, and update-zipf draws its rows uniformly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pipeline.workloads.base import PlainSql
from pipeline.workloads.sysbench.catalogue import Microbenchmark, Unit

_ID = {"pgsql": "SERIAL", "sqlite": "INTEGER"}

_FILL = {
    "pgsql": "SELECT (i::bigint * 40503 % {rows})::int + 1, "
    "lpad((i::bigint * 40503 % 99991)::text, 11, '0') || lpad(i::text, 108, '-'), "
    "lpad(i::text, 59, '0') FROM generate_series(1, {rows}) i",
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) "
    "SELECT i * 40503 % {rows} + 1, printf('%011d%0108d', i * 40503 % 99991, i), "
    "printf('%059d', i) FROM n",
}
"""Rows as wide as those of sysbench; the text begins with digits in no order."""

_BEGIN_WRITING = {"pgsql": "BEGIN", "sqlite": "BEGIN IMMEDIATE"}

_POINT = "SELECT c FROM sbtest1 WHERE id = {key}"
_RANGES = {
    "simple": "SELECT c FROM sbtest1 WHERE id BETWEEN {key} AND {to}",
    "sum": "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN {key} AND {to}",
    "order": "SELECT c FROM sbtest1 WHERE id BETWEEN {key} AND {to} ORDER BY c",
    "distinct": "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN {key} AND {to} ORDER BY c",
    "count": "SELECT COUNT(c) FROM sbtest1 WHERE id BETWEEN {key} AND {to}",
}
_READS = ("simple", "sum", "order", "distinct")
_POINT_SELECTS = 10

_UPDATE_INDEX = "UPDATE sbtest1 SET k = k + 1 WHERE id = {key}"
_UPDATE_TEXT = "UPDATE sbtest1 SET c = CAST({other} AS CHAR(12)) WHERE id = {key}"
_DELETE = "DELETE FROM sbtest1 WHERE id = {key}"
_INSERT_AGAIN = (
    "INSERT INTO sbtest1 (id, k, c, pad) "
    "VALUES ({key}, {other}, CAST({other} AS CHAR(12)), CAST({key} AS CHAR(12)))"
)
_WRITES = (_UPDATE_INDEX, _UPDATE_TEXT, _DELETE, _INSERT_AGAIN)

_SINGLE: Mapping[str, str] = {
    "point-query": _POINT,
    "hot-points": "SELECT c FROM sbtest1 WHERE id IN ({hot})",
    "random-points": "SELECT c FROM sbtest1 WHERE id IN ({keys})",
    "points-covered-pk": "SELECT id FROM sbtest1 WHERE id IN ({keys})",
    "points-covered-si": "SELECT k FROM sbtest1 WHERE k IN ({keys})",
    "points-notcovered-pk": "SELECT id, c FROM sbtest1 WHERE id IN ({keys})",
    "points-notcovered-si": "SELECT k, c FROM sbtest1 WHERE k IN ({keys})",
    "range-covered-pk": "SELECT id FROM sbtest1 WHERE id BETWEEN {key} AND {to}",
    "range-covered-si": "SELECT k FROM sbtest1 WHERE k BETWEEN {key} AND {to}",
    "range-notcovered-pk": "SELECT id, c FROM sbtest1 WHERE id BETWEEN {key} AND {to}",
    "range-notcovered-si": "SELECT k, c FROM sbtest1 WHERE k BETWEEN {key} AND {to}",
    "read-only-count": _RANGES["count"],
    "scan": "SELECT * FROM sbtest1 WHERE LENGTH(c) < 0",
    "update-inlist": "UPDATE sbtest1 SET c = CAST({other} AS CHAR(12)) WHERE id IN ({keys})",
    "update-index": _UPDATE_INDEX,
    "update-nonindex": _UPDATE_TEXT,
    "update-one": "UPDATE sbtest1 SET c = CAST({other} AS CHAR(12)) WHERE id = 1",
    "update-zipf": _UPDATE_TEXT,
    "delete": _DELETE,
    "insert": "INSERT INTO sbtest1 (k, c, pad) "
    "VALUES ({key}, CAST({other} AS CHAR(12)), CAST({key} AS CHAR(12)))",
}
"""The statement of each step that executes only one."""

_READ_ONLY: Mapping[str, tuple[str, ...]] = {
    "read-only": _READS,
    "read-only-simple": ("simple",),
    "read-only-sum": ("sum",),
    "read-only-order": ("order",),
    "read-only-distinct": ("distinct",),
}
"""The range queries of each step that is a transaction of reads."""

_SCANNED_ROWS = 20_000
"""Rows that the shorter counted run of a step that reads whole tables reads."""


def of_step(step: Microbenchmark, dialect: str, rows: int) -> PlainSql:
    """Return the statements of a sysbench step for a table of ``rows`` rows."""
    events = step.counted_events
    if step.unit is Unit.ROWS:
        events = max(1, _SCANNED_ROWS // rows)
    return PlainSql(
        table="sbtest1",
        load=(
            f"CREATE TABLE sbtest1 (id {_ID[dialect]}, k INTEGER DEFAULT 0 NOT NULL, "
            "c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))",
            f"INSERT INTO sbtest1 (k, c, pad) {_FILL[dialect].format(rows=rows)}",
        ),
        extras=("CREATE INDEX k_1 ON sbtest1 (k)",),
        event=tuple(_filled(text, step, rows) for text in _texts(step, dialect)),
        events=events,
    )


def _texts(step: Microbenchmark, dialect: str) -> tuple[str, ...]:
    """Return the statements of one event, with placeholders for keys."""
    name = step.lua_step
    if name in _SINGLE:
        return (_SINGLE[name],)
    reads = (_POINT,) * _POINT_SELECTS
    if name in _READ_ONLY:
        return ("BEGIN", *reads, *(_RANGES[each] for each in _READ_ONLY[name]), "COMMIT")
    if name == "read-write":
        reads += tuple(_RANGES[each] for each in _READS)
    else:
        reads = ()
    return (_BEGIN_WRITING[dialect], *reads, *_WRITES, "COMMIT")


def _filled(text: str, step: Microbenchmark, rows: int) -> str:
    between = step.range - (0 if step.lua_step.startswith("range-") else 1)

    def keys(key: Callable[[int], str]) -> str:
        return ", ".join(map(key, range(step.range)))

    return text.format(
        key="$1",
        other=f"$1 * 61 % {rows} + 1",
        to=f"$1 + {between}",
        keys=keys(lambda place: f"($1 * 61 + {place * 7919}) % {rows} + 1"),
        hot=keys(lambda place: str(rows // 2 + place + 1)),
    )
