"""Which instructions of a MySQL or MariaDB server execute statements, for counted runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.model import Connection
from pipeline.targets.base import Counting


@contextmanager
def without_purge(connection: Connection) -> Iterator[None]:
    """Hold a snapshot open while the block runs, so that InnoDB purges no old row versions.

    The progress of purge decides when pages split, and splits are a fifth of the cost of an update.
    """
    # Here, so that a missing driver affects no other target.
    from pipeline.targets.base.mysql_protocol import asking  # noqa: PLC0415

    with asking(connection) as session:
        session.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        yield


COUNTING = Counting(
    entries=("dispatch_command", "do_command"),
    waiting=frozenset(
        {
            "__errno_location",
            "scheduler_wait_net_begin",
            "scheduler_wait_net_end",
            "ssux_lock_impl<false>::rd_wait",
            "ssux_lock_impl<true>::rd_wait",
            "thd_wait_begin",
            "thd_wait_end",
            "ut_delay",
            "poll",
            "ppoll",
            "recv",
            "vio_io_wait",
            "vio_is_blocking",
            "vio_read",
            "vio_read_buff",
            "vio_socket_io_wait",
        }
    ),
    threads=True,
    # What the allocator and memcmp execute depends on addresses in the heap.
    binaries=("mariadbd", "mysqld"),
    # Otherwise statistics are computed again when enough rows changed, at some time.
    settings={"innodb_stats_auto_recalc": "OFF"},
    held_back=without_purge,
)
