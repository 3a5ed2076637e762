"""Postgres as a target: its builds, configurations and servers."""

from __future__ import annotations

import platform
from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.machine.account import Account, find_account
from pipeline.model import Build, ServerConfig, Supply
from pipeline.targets.base import Identity, Placement
from pipeline.targets.base.archives import ArchiveMember, source_members
from pipeline.targets.base.programs import reported_version
from pipeline.targets.base.templates import make_template
from pipeline.targets.postgres import (
    cluster,
    compilation,
    configuration,
    install,
    processes,
    releases,
)
from pipeline.targets.postgres.counting import COUNTING
from pipeline.targets.postgres.script import PostgresScript
from pipeline.text.errors import UserError

if TYPE_CHECKING:
    from pipeline.targets.postgres.server import PostgresServer

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_TARBALLS = (
    "https://ftp.postgresql.org/pub/source/ "
    "https://ftp.postgresql.org/pub/source/v{version}/postgresql-{version}.tar.bz2"
)
_REPOSITORY = "https://git.postgresql.org/git/postgresql.git"


class Postgres:
    """Postgres: prebuilt releases, or source code."""

    name = "postgres"
    counting = COUNTING
    embedded = False
    tools = (
        ("bison", "generates the parser, which the repository does not contain"),
        ("flex", "generates the scanner, which the repository does not contain"),
        ("perl", "generates the catalogs"),
    )
    revisions = staticmethod(releases.revisions)
    recipe = staticmethod(compilation.recipe)
    configs = configuration.FILES.families
    config = configuration.FILES.config
    with_setting = staticmethod(configuration.with_setting)
    background = staticmethod(processes.background)
    script = PostgresScript()

    def __init__(self, machine: str | None = None) -> None:
        """Use prebuilt releases for a processor architecture, by default this machine's."""
        kind = _ARCHITECTURES.get(machine or platform.machine(), machine or platform.machine())
        self.supplies = (
            Supply(
                name="maven",
                kind="maven",
                coordinates=f"io.zonky.test.postgres:embedded-postgres-binaries-linux-{kind}",
            ),
            Supply(
                name="debian-source",
                kind="debian-source",
                coordinates="postgresql-13 postgresql-15 postgresql-17 postgresql-18"
                "@bullseye bookworm trixie sid",
                prebuilt=False,
            ),
            Supply(name="tarball", kind="tarball", coordinates=_TARBALLS, prebuilt=False),
            Supply(name="tags", kind="tags", coordinates=_REPOSITORY, prebuilt=False),
            Supply(
                name="git",
                kind="git",
                coordinates=f"{_REPOSITORY}#master",
                prebuilt=False,
                commits=True,
            ),
        )

    def members(self, supply: Supply, archive: Path) -> Generator[ArchiveMember]:
        """Yield the program files of a prebuilt Postgres release."""
        if supply.kind == "archive":
            return source_members(archive)
        return install.members(archive)

    def identify(self, home: Path) -> Identity:
        """Identify an installed build. Raises UserError if it is not Postgres."""
        program = home / "bin/postgres"
        if not program.exists():
            raise UserError(
                "the downloaded archive has no bin/postgres, so it is not a release of Postgres"
            )
        return Identity(
            program=program,
            folders=install.PROGRAM_FOLDERS,
            version=reported_version(program, find_account()),
        )

    def initial_options(self, config: ServerConfig) -> tuple[str, ...]:
        """Return nothing: no option takes effect only when the database is created."""
        del config
        return ()

    def template(
        self, build: Build, folder: Path, account: Account, options: Sequence[str] = ()
    ) -> None:
        """Create the empty Postgres database that every run of a build starts from."""
        make_template(build, folder, account, partial(cluster.fill, build, account))

    def start(
        self, build: Build, config: ServerConfig, template: Path, placement: Placement
    ) -> PostgresServer:
        """Start a Postgres server on a copy of the empty database, and wait until it answers."""
        # Imports the driver, which planning does not need.
        from pipeline.targets.postgres import server  # noqa: PLC0415

        return server.start(build, config, template, placement)
