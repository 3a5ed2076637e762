"""Postgres as a target: where its parts come together."""

from __future__ import annotations

import platform
from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import UserError
from pipeline.machine.account import Account, find_account
from pipeline.model import Build, Machine, Revision, ServerConfig, Supply
from pipeline.targets.base import Compilation, Identity, Placement, Recipe
from pipeline.targets.base.archives import Member
from pipeline.targets.base.programs import reported_version
from pipeline.targets.base.templates import make_template
from pipeline.targets.postgres import (
    cluster,
    compilation,
    configuration,
    install,
    releases,
)

if TYPE_CHECKING:
    from pipeline.targets.postgres.server import PostgresServer

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_TARBALLS = (
    "https://ftp.postgresql.org/pub/source/ "
    "https://ftp.postgresql.org/pub/source/v{version}/postgresql-{version}.tar.bz2"
)
_REPOSITORY = "https://git.postgresql.org/git/postgresql.git"


class Postgres:
    """Postgres, prebuilt or from source code."""

    name = "postgres"
    tools = (
        ("bison", "makes the parser, which a repository does not hold"),
        ("flex", "makes the scanner, which a repository does not hold"),
        ("perl", "makes the catalogs"),
    )

    def __init__(self, machine: str | None = None) -> None:
        """Use the binaries for a kind of ``machine``, by default this one's."""
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

    def revisions(self, supply: Supply, versions: Sequence[str]) -> tuple[Revision, ...]:
        """Return one revision for each release, oldest first."""
        return releases.revisions(supply, versions)

    def members(self, supply: Supply, archive: Path) -> Generator[Member]:
        """Give the program files of a prebuilt release."""
        return install.members(archive)

    def recipe(self, work: Compilation) -> Recipe:
        """Say how a revision is built from source code."""
        return compilation.recipe(work)

    def identify(self, home: Path) -> Identity:
        """Look at an installed build. Raises UserError for what is no Postgres."""
        program = home / "bin/postgres"
        if not program.exists():
            raise UserError("the archive holds no bin/postgres, so it is no release of Postgres")
        return Identity(
            program=program,
            folders=install.PROGRAM_FOLDERS,
            version=reported_version(program, find_account()),
        )

    def config(self, family: str, revision: Revision, machine: Machine) -> ServerConfig:
        """Return a family's configuration for a revision, scaled to the machine."""
        scale = configuration.scale(machine)
        return configuration.FILES.config(family, revision, machine, scale)

    def with_setting(self, config: ServerConfig, name: str, value: str) -> ServerConfig:
        """Return a configuration in which a setting has a value, as a server reports both."""
        return configuration.with_setting(config, name, value)

    def template(self, build: Build, folder: Path, account: Account) -> None:
        """Make the empty database that every repetition of a build starts from."""
        make_template(build, folder, account, partial(cluster.fill, build, account))

    def start(
        self, build: Build, config: ServerConfig, template: Path, placement: Placement
    ) -> PostgresServer:
        """Start a server on a copy of the template and wait until it answers."""
        # Loads the driver, which planning does without.
        from pipeline.targets.postgres import server  # noqa: PLC0415

        return server.start(build, config, template, placement)
