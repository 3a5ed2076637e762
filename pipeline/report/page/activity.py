"""What a DBMS did beside the statements: which of it is shown, and in which words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

MOVED = 0.01
"""Part of its greatest value by which a field has to move within a run to be shown."""


class FieldWording(NamedTuple):
    """A field in plain words, with its unit; ``bytes`` is scaled to what is readable."""

    label: str
    unit: str


def moves(values: Sequence[float]) -> bool:
    """Say whether a field moved within a run: what stood still explains no dip."""
    low, high = min(values), max(values)
    return high - low > MOVED * max(-low, high)


def in_order(names: Collection[str]) -> list[str]:
    """Return fields in the order in which they are shown: the known ones, then the others."""
    return [name for name in FIELDS if name in names] + sorted(set(names) - FIELDS.keys())


def wording(name: str) -> FieldWording:
    """Return a field in words; one that is not known is called by its name."""
    if name in FIELDS:
        return FIELDS[name]
    unit = next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
    return FieldWording(name.replace("_", " "), unit)


_UNITS = {"bytes/s": "bytes/s", "bytes": "bytes", "/s": "1/s", "_s": "s", "_ms": "ms", "_pct": "%"}
"""The unit that the ending of a name says."""

FIELDS: Mapping[str, FieldWording] = {
    name: FieldWording(label, unit)
    for name, label, unit in (
        # Postgres.
        ("autovacuum_workers", "autovacuum workers", ""),
        ("dead_tuples", "dead row versions", ""),
        ("checkpoint_pages/s", "pages written by checkpoints", "1/s"),
        ("wal_bytes/s", "WAL written", "bytes/s"),
        ("backend_pages/s", "pages written by backends", "1/s"),
        ("vacuum_scanned", "of the tables scanned by running vacuums", "%"),
        ("vacuums", "vacuums running", ""),
        ("autovacuums/s", "autovacuums ended", "1/s"),
        ("autoanalyzes/s", "automatic ANALYZE ended", "1/s"),
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
        ("stalled_s/s", "writes stalled, part of the time", ""),
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
"""Fields in the order in which they are shown: those that explain most dips first."""
