"""Which instructions of Postgres execute statements, for counted runs."""

from __future__ import annotations

from pipeline.targets.base import Counting

COUNTING = Counting(
    # A backend, and its parallel workers. The others (checkpointer, writers, autovacuum) have main
    # functions of their own.
    entries=("PostgresMain", "ParallelWorkerMain"),
    # A backend tries to read the next message, and waits in epoll only if the client has not sent
    # it yet (src/backend/libpq/be-secure.c, storage/ipc/latch.c). Between statements it flushes its
    # statistics once a second (src/backend/utils/activity/pgstat.c).
    waiting=frozenset(
        {
            "ModifyWaitEvent",
            "ProcessClientReadInterrupt",
            "ResetLatch",
            "WaitEventAdjustEpoll",
            "WaitEventSetWait",
            "WaitEventSetWaitBlock",
            "__errno_location",
            "epoll_ctl",
            "epoll_wait",
            "pgstat_database_flush_cb",
            "pgstat_flush_io",
            "pgstat_flush_pending_entries",
            "pgstat_flush_wal",
            "pgstat_get_entry_ref",
            "pgstat_lock_entry",
            "pgstat_prep_pending_entry",
            "pgstat_relation_flush_cb",
            "pgstat_report_stat",
            "pgstat_slru_flush",
            "pgstat_unlock_entry",
            "recv",
            "secure_raw_read",
            "secure_read",
        }
    ),
    settings={
        # Its workers would vacuum the tables in the middle of a step.
        "autovacuum": "off",
        # A statement sets the hint bits of a row only if the commit that it reports is on storage.
        # Without these three, that depends on when the WAL writer runs.
        "synchronous_commit": "on",
        "fsync": "off",
        "wal_writer_delay": "10000",
        # Whether a page is clean when a statement needs a buffer is a matter of time, too.
        "bgwriter_lru_maxpages": "0",
    },
)
