"""The number of background threads of a MySQL or MariaDB server."""

from __future__ import annotations

from pipeline.model import ServerConfig
from pipeline.targets.base.configurations import numeric_option

_ALWAYS = 5
"""Background threads that every server has: InnoDB's master thread, and the threads that write and
flush the redo log and notify waiting commits."""


def background(config: ServerConfig, major: str) -> int:
    """Return how many background threads a server with this configuration has."""
    del major
    cleaners = numeric_option(config, "innodb_page_cleaners", 4)
    purges = numeric_option(config, "innodb_purge_threads", 4)
    return _ALWAYS + cleaners + purges
