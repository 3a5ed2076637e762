"""The background activity of a DBMS (vacuum, checkpoints): which values a page shows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

MOVED = 0.01
"""Minimum variation of a field within a run to be shown, as a fraction of its maximum."""


class FieldWording(NamedTuple):
    """How an activity of a DBMS is described on a page: text and unit."""

    label: str
    unit: str


def moves(values: Sequence[float]) -> bool:
    """Return whether an activity changed within a run; a constant one explains nothing."""
    low, high = min(values), max(values)
    return high - low > MOVED * max(-low, high)


def in_order(names: Collection[str]) -> list[str]:
    """Return activities in the order in which a page shows them."""
    return [name for name in FIELDS if name in names] + sorted(set(names) - FIELDS.keys())


def wording(name: str) -> FieldWording:
    """Return how an activity is described; an unknown one by its name."""
    if name in FIELDS:
        return FIELDS[name]
    if name.startswith(_WAIT):
        return FieldWording(f"sessions waiting for {name.removeprefix(_WAIT)}", "")
    unit = next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
    return FieldWording(name.replace("_", " "), unit)


_WAIT = "wait:"
"""Prefix of the fields that count sessions waiting for an event."""

_UNITS = {"bytes/s": "bytes/s", "bytes": "bytes", "/s": "1/s", "_s": "s", "_ms": "ms", "_pct": "%"}
"""Units by the ending of a field's name."""

FIELDS: Mapping[str, FieldWording] = {
    name: FieldWording(label, unit)
    for name, label, unit in (
        # Postgres.
        ("autovacuum_workers", "autovacuum workers", ""),
        ("dead_tuples", "dead row versions", ""),
        ("checkpoint_pages/s", "pages written by checkpoints", "1/s"),
        ("wal_bytes/s", "WAL written", "bytes/s"),
        ("backend_pages/s", "pages written by backends", "1/s"),
        ("vacuum_scanned", "part of the tables scanned by running vacuums", "%"),
        ("vacuums", "vacuums running", ""),
        ("autovacuums/s", "autovacuums ended", "1/s"),
        ("autoanalyzes/s", "automatic ANALYZE runs completed", "1/s"),
        ("xmin_age", "age of the oldest snapshot", "transactions"),
        ("checkpoints/s", "checkpoints", "1/s"),
        ("bgwriter_pages/s", "pages written by the background writer", "1/s"),
        ("temp_bytes/s", "temporary files written", "bytes/s"),
        # InnoDB.
        ("history_length", "purge debt (history list)", "transactions"),
        ("checkpoint_age", "checkpoint age", "bytes"),
        ("dirty_pages", "dirty pages", ""),
        ("pages_flushed/s", "pages flushed", "1/s"),
        ("buffer_pool_waits/s", "waits for a free page", "1/s"),
        ("buffer_pool_reads/s", "pages read from storage", "1/s"),
        ("log_bytes/s", "redo log written", "bytes/s"),
        ("row_lock_waits/s", "waits for row locks", "1/s"),
        # RocksDB.
        ("compactions", "compactions running", ""),
        ("flushes", "flushes running", ""),
        ("stalled_s/s", "part of the time in which writes stalled", ""),
        ("stalls/s", "write stalls", "1/s"),
        ("pending_bytes", "compaction debt", "bytes"),
        ("l0_files", "files in level 0", ""),
        ("compaction_bytes/s", "written by compactions", "bytes/s"),
        ("flush_bytes/s", "written by flushes", "bytes/s"),
        # SQLite.
        ("wal_bytes", "size of the WAL", "bytes"),
        ("database_bytes", "size of the database", "bytes"),
    )
}
"""Fields in display order: those that explain most dips in throughput come first."""
