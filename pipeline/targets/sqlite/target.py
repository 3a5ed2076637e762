"""SQLite as a target: where its parts come together."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path

from pipeline.errors import UserError
from pipeline.machine.account import Account
from pipeline.model import Build, Machine, Revision, ServerConfig, Supply
from pipeline.targets.base import Compilation, Identity, Placement, Recipe
from pipeline.targets.base.archives import Member
from pipeline.targets.base.templates import make_template
from pipeline.targets.sqlite import compilation, configuration, database, library, releases

_REPOSITORY = "https://github.com/sqlite/sqlite.git"


class SQLite:
    """SQLite, from source code: what a crate carries, a source package or a repository."""

    name = "sqlite"
    tools = (("tclsh", "makes sqlite3.c, which source packages and the repository do not hold"),)
    supplies = (
        Supply(name="crate", kind="crate", coordinates="libsqlite3-sys", prebuilt=False),
        Supply(
            name="debian-source",
            kind="debian-source",
            coordinates="sqlite3@bullseye bookworm trixie sid",
            prebuilt=False,
        ),
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
        """Refuse: every source has source code."""
        raise UserError(f"no source has {self.name} prebuilt; name options to compile it with")

    def recipe(self, work: Compilation) -> Recipe:
        """Say how a revision is built from source code."""
        return compilation.recipe(work)

    def identify(self, home: Path) -> Identity:
        """Look at an installed build. Raises UserError for what is no SQLite."""
        program = library.library(home)
        version = library.reported_version(program)
        return Identity(
            program=program,
            folders=library.FOLDERS,
            version=version,
            made=library.checked_in(version),
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
        make_template(build, folder, account, partial(database.fill, account))

    def start(
        self, build: Build, config: ServerConfig, template: Path, placement: Placement
    ) -> database.SQLiteDatabase:
        """Make a copy of the template ready for clients."""
        return database.start(build, config, template, placement)
