"""How a MariaDB server is started; what it does then is InnoDB's."""

from __future__ import annotations

from pathlib import Path

from pipeline.model import Build, ServerConfig
from pipeline.targets.base import Placement, innodb
from pipeline.targets.mariadb.datadir import server_command
from pipeline.targets.mariadb.install import environment

NO_TLS = "--loose-skip-ssl"
"""From 11.4 on a server makes a key of 4096 bits and its certificate whenever it starts: seconds
of computing (8 of the 9 s of a start, on two cores), for clients over the socket alone."""


def start(
    build: Build, config: ServerConfig, template: Path, placement: Placement
) -> innodb.InnoDBServer:
    """Start a server on a copy of ``template`` and wait until it answers."""
    return innodb.start(
        f"MariaDB {build.version}",
        lambda data, file: [*server_command(build, data, file), NO_TLS],
        environment(build.home),
        build,
        config,
        template,
        placement,
    )
