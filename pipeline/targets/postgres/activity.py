"""The background work of a Postgres server (vacuum, checkpoints, writes), read with one query.

The views changed between releases: 10 renamed xlog to wal, 17 moved parts of pg_stat_bgwriter to
pg_stat_checkpointer and pg_stat_io, and 18 counts pg_stat_io in bytes. Table statistics cover the
workload's tables only. They are read with the functions behind the views, which need no joins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import psycopg

from pipeline.model import WAIT_FIELD, FieldKind, SampledField


class _Figure(NamedTuple):
    """A value of a Postgres server's activity, and how to query it in some major versions."""

    name: str
    kind: FieldKind
    unit: str
    value: str
    source: str = ""
    since: int = 0
    until: int = 999

    @property
    def field(self) -> SampledField:
        return SampledField(f"dbms.{self.name}", self.kind, self.unit)


_COUNTER, _GAUGE = FieldKind.COUNTER, FieldKind.GAUGE

_TABLES = "FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
_OTHERS = "FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
_VACUUMS = "FROM pg_stat_progress_vacuum"
_WRITER, _CHECKPOINTER = "FROM pg_stat_bgwriter", "FROM pg_stat_checkpointer"
_CLIENTS = "FROM pg_stat_io WHERE backend_type = 'client backend' AND object = 'relation'"
_DATABASE = "FROM pg_database WHERE datname = current_database()"

_AUTOVACUUM = "query LIKE 'autovacuum:%'"
_PERCENT = "coalesce(100.0 * sum(heap_blks_scanned) / nullif(sum(heap_blks_total), 0), 0)"
_PAGES = "coalesce(sum(writes + extends), 0)"
_BYTES = "round(coalesce(sum(write_bytes + extend_bytes), 0) / current_setting('block_size')::int)"

_FIGURES = (
    # Backends have a type since 10; the query text of the workers also identifies them before.
    _Figure("autovacuum_workers", _GAUGE, "count", "count(*)", f"{_OTHERS} AND {_AUTOVACUUM}"),
    _Figure("vacuums", _GAUGE, "count", "count(*)", _VACUUMS),
    _Figure("vacuum_scanned", _GAUGE, "%", _PERCENT, _VACUUMS),
    _Figure("autovacuums", _COUNTER, "count", "sum(pg_stat_get_autovacuum_count(oid))", _TABLES),
    _Figure("autoanalyzes", _COUNTER, "count", "sum(pg_stat_get_autoanalyze_count(oid))", _TABLES),
    _Figure("dead_tuples", _GAUGE, "count", "sum(pg_stat_get_dead_tuples(oid))", _TABLES),
    # Age of the oldest snapshot in transactions: vacuum cannot remove what is younger.
    _Figure("xmin_age", _GAUGE, "count", "coalesce(max(age(backend_xmin)), 0)", _OTHERS),
    _Figure(
        "checkpoints", _COUNTER, "count", "checkpoints_timed + checkpoints_req", _WRITER, until=16
    ),
    _Figure("checkpoints", _COUNTER, "count", "num_timed + num_requested", _CHECKPOINTER, since=17),
    _Figure("checkpoint_pages", _COUNTER, "count", "buffers_checkpoint", _WRITER, until=16),
    _Figure("checkpoint_pages", _COUNTER, "count", "buffers_written", _CHECKPOINTER, since=17),
    _Figure("bgwriter_pages", _COUNTER, "count", "buffers_clean", _WRITER),
    _Figure("backend_pages", _COUNTER, "count", "buffers_backend", _WRITER, until=16),
    _Figure("backend_pages", _COUNTER, "count", _PAGES, _CLIENTS, since=17, until=17),
    _Figure("backend_pages", _COUNTER, "count", _BYTES, _CLIENTS, since=18),
    _Figure("wal_bytes", _COUNTER, "bytes", "pg_current_xlog_insert_location() - '0/0'", until=9),
    _Figure("wal_bytes", _COUNTER, "bytes", "pg_current_wal_insert_lsn() - '0/0'", since=10),
    _Figure("temp_bytes", _COUNTER, "bytes", "pg_stat_get_db_temp_bytes(oid)", _DATABASE),
)


_WAITS = (
    f"SELECT wait_event_type || ':' || wait_event, count(*) {_OTHERS}"
    f" AND state = 'active' AND wait_event IS NOT NULL AND NOT {_AUTOVACUUM} GROUP BY 1"
)
"""Counts waiting statements of clients by what they wait for, which releases before 9.6 do not
report."""


def _figures(major: int) -> tuple[_Figure, ...]:
    return tuple(figure for figure in _FIGURES if figure.since <= major <= figure.until)


def fields(major: int) -> tuple[SampledField, ...]:
    """Return the fields of activity that a Postgres major version can report."""
    return tuple(figure.field for figure in _figures(major))


def ask(session: psycopg.Connection[tuple[Any, ...]], major: int) -> Mapping[str, float]:
    """Query the present activity values of a Postgres server. Raises psycopg.Error."""
    figures = _figures(major)
    wanted = ", ".join(f"(SELECT {figure.value} {figure.source})" for figure in figures)
    row = session.execute(f"SELECT {wanted}".encode(), prepare=True).fetchone() or ()
    waits = session.execute(_WAITS.encode(), prepare=True).fetchall()
    return {
        figure.field.name: float(value)
        for figure, value in zip(figures, row, strict=True)
        if value is not None
    } | {f"{WAIT_FIELD}{event}": float(sessions) for event, sessions in waits}
