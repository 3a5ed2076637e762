"""Start a MySQL server; everything else is shared with MariaDB."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pipeline.model import Build, ServerConfig
from pipeline.targets.base import Placement, innodb
from pipeline.targets.mysql.datadir import server_command
from pipeline.targets.mysql.install import environment


def start(
    build: Build, config: ServerConfig, template: Path, placement: Placement
) -> innodb.InnoDBServer:
    """Start a MySQL server on a copy of the empty database, and wait until it answers."""
    return innodb.start(
        f"MySQL {build.version}",
        partial(server_command, build),
        environment(build.home),
        build,
        config,
        template,
        placement,
    )
