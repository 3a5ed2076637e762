"""How much a MySQL or MariaDB server does beside statements."""

from __future__ import annotations

from pipeline.model import ServerConfig
from pipeline.targets.base.configurations import numeric_option

_ALWAYS = 5
"""Threads of every server: InnoDB's master thread, and writing, flushing and announcing of the redo
log."""


def background(config: ServerConfig, major: str) -> int:
    """Return how many threads of a server with this configuration work beside its clients."""
    del major
    cleaners = numeric_option(config, "innodb_page_cleaners", 4)
    purges = numeric_option(config, "innodb_purge_threads", 4)
    return _ALWAYS + cleaners + purges
