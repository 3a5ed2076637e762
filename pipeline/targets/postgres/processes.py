"""The background processes of a Postgres server, and which of its processes serve clients."""

from __future__ import annotations

import re

from pipeline.machine.tasks import Task
from pipeline.model import ServerConfig
from pipeline.targets.base.configurations import numeric_option, option

_ALWAYS = 4
"""Background processes of every server: checkpointer, background writer, WAL writer, autovacuum
launcher."""

_WORKERS = "worker"
"""The ``io_method`` that reads in separate worker processes, the default since 18."""

_CLIENT = re.compile(r"postgres: .*\[local\]|postgres: .*parallel worker")
"""The pattern of the titles of processes that execute statements: backends of clients, which
connect over the Unix socket (``[local]``), and parallel workers."""


def background(config: ServerConfig, major: str) -> int:
    """Return how many background processes a server with this configuration has."""
    vacuum = numeric_option(config, "autovacuum_max_workers", 3)
    # A commit without a major counts as the newest code.
    reads_in_workers = not major or int(major.partition(".")[0]) >= 18
    method = option(config, "io_method") or _WORKERS
    readers = numeric_option(config, "io_workers", 3) if method == _WORKERS else 0
    return _ALWAYS + vacuum + (readers if reads_in_workers else 0)


def serves(task: Task) -> bool:
    """Return whether a process serves a client; the postmaster does not.

    Neither do the kernel's threads for io_uring.
    """
    return task.tid == task.pid and _CLIENT.match(task.title) is not None
