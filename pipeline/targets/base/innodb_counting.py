"""Which instructions of a server with InnoDB serve statements."""

from __future__ import annotations

from pipeline.targets.base import Counting

COUNTING = Counting(
    entries=("dispatch_command", "do_command"),
    waiting=frozenset(
        {
            "__errno_location",
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
)
