"""Which instructions of Postgres serve statements."""

from __future__ import annotations

from pipeline.targets.base import Counting

COUNTING = Counting(
    # A backend, and its parallel workers. The others (checkpointer, writers, autovacuum) have main
    # functions of their own.
    entries=("PostgresMain", "ParallelWorkerMain"),
    # A backend tries to read the next message, and waits in epoll only if the client has not sent
    # it yet (src/backend/libpq/be-secure.c, storage/ipc/latch.c).
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
            "recv",
            "secure_raw_read",
            "secure_read",
        }
    ),
    # Its workers would vacuum the tables in the middle of a step.
    settings={"autovacuum": "off"},
)
