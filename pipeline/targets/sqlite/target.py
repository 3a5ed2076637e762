"""SQLite as a target: its builds, configurations and databases."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path

from pipeline.machine.account import Account
from pipeline.model import Build, ServerConfig, Supply
from pipeline.targets.base import Counting, Identity
from pipeline.targets.base.archives import ArchiveMember
from pipeline.targets.base.templates import make_template
from pipeline.targets.sqlite import compilation, configuration, database, library, releases
from pipeline.targets.sqlite.script import SqliteScript
from pipeline.text.errors import UserError

_REPOSITORY = "https://github.com/sqlite/sqlite.git"


class SQLite:
    """SQLite, always from source code: a crate, a source package or a repository."""

    name = "sqlite"
    # The library alone: sysbench and its Lua, which load it, are the client.
    counting = Counting(binaries=("libsqlite3",))
    embedded = True
    tools = (
        ("tclsh", "generates sqlite3.c, which source packages and the repository do not contain"),
    )
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
    revisions = staticmethod(releases.revisions)
    recipe = staticmethod(compilation.recipe)
    configs = configuration.FILES.families
    config = configuration.FILES.config
    with_setting = staticmethod(configuration.with_setting)
    start = staticmethod(database.start)
    script = SqliteScript()

    def background(self, config: ServerConfig, major: str) -> int:
        """Return 0: SQLite does everything in the threads of its clients."""
        del config, major
        return 0

    def members(self, supply: Supply, archive: Path) -> Generator[ArchiveMember]:
        """Raise UserError: no source has prebuilt releases of SQLite."""
        raise UserError(
            f"no source offers prebuilt releases of {self.name}; name build options to "
            "compile it with"
        )

    def identify(self, home: Path) -> Identity:
        """Identify an installed build. Raises UserError if it is not SQLite."""
        program = library.library(home)
        version = library.reported_version(program)
        return Identity(
            program=program,
            folders=library.FOLDERS,
            version=version,
            made=library.checked_in(version),
        )

    def initial_options(self, config: ServerConfig) -> tuple[str, ...]:
        """Return nothing: no option takes effect only when the database is created."""
        del config
        return ()

    def template(
        self, build: Build, folder: Path, account: Account, options: Sequence[str] = ()
    ) -> None:
        """Create the empty SQLite database that every run of a build starts from."""
        make_template(build, folder, account, partial(database.fill, account))
