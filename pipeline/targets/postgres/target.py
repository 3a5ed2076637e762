"""Postgres as a target: where its parts come together."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pipeline.errors import UserError
from pipeline.machine.account import Account, find_account
from pipeline.model import Build, Machine, Provenance, Revision, ServerConfig
from pipeline.targets.base import Archive, Placement
from pipeline.targets.base.archives import unpacked
from pipeline.targets.base.programs import program_hash, reported_version
from pipeline.targets.base.templates import make_template
from pipeline.targets.postgres import cluster, configuration, install, releases, server

OPTIONS = "official"
"""Build options of a binary as it was published."""
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class Postgres:
    """Prebuilt releases of Postgres."""

    name = "postgres"

    def __init__(self, machine: str | None = None) -> None:
        """Use the binaries for a kind of ``machine``, by default this one's."""
        kind = machine or platform.machine()
        self.coordinates = (
            "io.zonky.test.postgres:embedded-postgres-binaries-linux-"
            f"{_ARCHITECTURES.get(kind, kind)}"
        )

    def revisions(self, versions: Sequence[str]) -> tuple[Revision, ...]:
        """Return one revision for each release, oldest first."""
        return releases.revisions(versions)

    def install(self, revision: Revision, archive: Archive, home: Path) -> Build:
        """Unpack an archive into ``home``, which does not exist yet, and identify it."""
        with unpacked(archive.path, home, install.members) as folder:
            program = folder / "bin/postgres"
            if not program.exists():
                raise UserError(
                    "the archive holds no bin/postgres, so it is no release of Postgres"
                )
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
                    reported_version=reported_version(program, find_account()),
                ),
                home=home,
            )

    def config(self, family: str, revision: Revision, machine: Machine) -> ServerConfig:
        """Return a family's configuration for a revision, scaled to the machine."""
        scale = configuration.scale(machine)
        return configuration.FILES.config(family, revision, machine, scale)

    def template(self, build: Build, folder: Path, account: Account) -> None:
        """Make the empty database that every repetition of a build starts from."""
        make_template(build, folder, account, partial(cluster.fill, build, account))

    def start(
        self, build: Build, config: ServerConfig, template: Path, placement: Placement
    ) -> server.PostgresServer:
        """Start a server on a copy of the template and wait until it answers."""
        return server.start(build, config, template, placement)
