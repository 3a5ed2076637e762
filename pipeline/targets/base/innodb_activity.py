"""InnoDB's background work (purge, page writes, log) and waiting statements, read with queries.

The queries read only values that every release always collects. The counters of
``innodb_monitor_enable`` would have to be enabled, and ``SHOW ENGINE INNODB STATUS`` blocks the
engine while it prints.
"""

from __future__ import annotations

from collections.abc import Mapping

from pymysql.cursors import Cursor

from pipeline.model import WAIT_FIELD, FieldKind, SampledField

_COUNTER, _GAUGE = FieldKind.COUNTER, FieldKind.GAUGE

_HISTORY = SampledField("dbms.history_length", _GAUGE, "count")
"""The length of the history list: transactions whose old row versions are not purged yet."""

_HISTORY_QUERY = (
    "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'"
)

_STATUS = {
    "Innodb_buffer_pool_pages_dirty": SampledField("dbms.dirty_pages", _GAUGE, "count"),
    "Innodb_buffer_pool_pages_flushed": SampledField("dbms.pages_flushed", _COUNTER, "count"),
    "Innodb_buffer_pool_reads": SampledField("dbms.buffer_pool_reads", _COUNTER, "count"),
    "Innodb_buffer_pool_wait_free": SampledField("dbms.buffer_pool_waits", _COUNTER, "count"),
    "Innodb_os_log_written": SampledField("dbms.log_bytes", _COUNTER, "bytes"),
    "Innodb_row_lock_waits": SampledField("dbms.row_lock_waits", _COUNTER, "count"),
    # MariaDB 10.1 and 10.5 on report the age; MySQL since 8.0.30 reports the two values that it is
    # the difference of.
    "Innodb_checkpoint_age": SampledField("dbms.checkpoint_age", _GAUGE, "bytes"),
}
_AGE = _STATUS["Innodb_checkpoint_age"].name
_NOW, _CHECKPOINT = "Innodb_redo_log_current_lsn", "Innodb_redo_log_checkpoint_lsn"

_WANTED = ", ".join(f"'{name}'" for name in (*_STATUS, _NOW, _CHECKPOINT))
_STATUS_QUERY = f"SHOW GLOBAL STATUS WHERE Variable_name IN ({_WANTED})"

_WAITS_QUERY = (
    "SELECT state, count(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for %' "
    "AND command IN ('Query', 'Execute') AND id <> connection_id() GROUP BY state UNION ALL "
    "SELECT 'Waiting for row lock', count(*) FROM information_schema.innodb_trx "
    "WHERE trx_state = 'LOCK WAIT' HAVING count(*) > 0"
)
"""Counts waiting statements by what they wait for: a wait state of the server, or a row lock."""

FIELDS = (_HISTORY, *_STATUS.values())
"""The fields that a server may report; a release omits those that it does not collect."""


def ask(session: Cursor) -> Mapping[str, float]:
    """Query InnoDB's present activity values. Raises pymysql.MySQLError."""
    session.execute(_STATUS_QUERY)
    reported = {str(name): float(value) for name, value in session.fetchall()}
    found = {field.name: reported[name] for name, field in _STATUS.items() if name in reported}
    if _NOW in reported and _CHECKPOINT in reported:
        found[_AGE] = reported[_NOW] - reported[_CHECKPOINT]
    session.execute(_HISTORY_QUERY)
    for (length,) in session.fetchall():
        found[_HISTORY.name] = float(length)
    session.execute(_WAITS_QUERY)
    for state, sessions in session.fetchall():
        found[WAIT_FIELD + str(state).removeprefix("Waiting for ")] = float(sessions)
    return found
