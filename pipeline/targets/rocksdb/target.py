"""RocksDB as a target: where its parts come together."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

from pipeline.errors import UserError
from pipeline.machine.account import Account, find_account
from pipeline.model import Build, Machine, Revision, ServerConfig, Supply
from pipeline.targets.base import Compilation, Identity, Placement, Recipe
from pipeline.targets.base.archives import Member, deb_members
from pipeline.targets.base.loader import loaded
from pipeline.targets.base.programs import reported_version
from pipeline.targets.base.templates import make_template
from pipeline.targets.rocksdb import compilation, configuration, engine, releases

_REPOSITORY = "https://github.com/facebook/rocksdb.git"
_PACKAGED = "usr/bin/db_bench"
"""Where the benchmark is in a home of Debian packages."""


class RocksDB:
    """RocksDB by its own benchmark, db_bench, which is load generator and DBMS in one."""

    name = "rocksdb"
    tools = (("bash", "runs what RocksDB's Makefile asks of it"),)
    supplies = (
        Supply(
            name="debian",
            kind="debian",
            coordinates="rocksdb-tools@bullseye bookworm trixie sid",
        ),
        Supply(name="crate", kind="crate", coordinates="librocksdb-sys", prebuilt=False),
        Supply(name="tags", kind="tags", coordinates=_REPOSITORY, prebuilt=False),
        Supply(
            name="git",
            kind="git",
            coordinates=f"{_REPOSITORY}#main",
            prebuilt=False,
            commits=True,
        ),
    )

    def revisions(self, supply: Supply, versions: Sequence[str]) -> tuple[Revision, ...]:
        """Return one revision for each release, oldest first."""
        return releases.revisions(supply, versions)

    def members(self, supply: Supply, archive: Path) -> Generator[Member]:
        """Give db_bench and all libraries of a folder of packages."""
        return deb_members(archive, (_PACKAGED, "usr/lib", "usr/lib64"))

    def recipe(self, work: Compilation) -> Recipe:
        """Say how a revision is built from source code."""
        return compilation.recipe(work)

    def identify(self, home: Path) -> Identity:
        """Look at an installed build. Raises UserError for what is no RocksDB."""
        program = _program(home)
        if not program.exists():
            raise UserError("the archive holds no db_bench, so it is no release of RocksDB")
        version = reported_version(program, find_account(), command=_command(home))
        folder = program.relative_to(home).parts[0]
        return Identity(program=program, folders=(folder,), version=version)

    def config(self, family: str, revision: Revision, machine: Machine) -> ServerConfig:
        """Return a family's configuration for a revision, scaled to the machine."""
        scale = configuration.scale(machine, revision)
        made = configuration.FILES.config(family, revision, machine, scale)
        exceeds = configuration.least_database(family, machine)
        return made.model_copy(update={"exceeds": exceeds})

    def with_setting(self, config: ServerConfig, name: str, value: str) -> ServerConfig:
        """Return a configuration in which a setting has a value, as a server reports both."""
        return configuration.with_setting(config, name, value)

    def template(self, build: Build, folder: Path, account: Account) -> None:
        """Make the empty folder that every repetition of a build starts from."""
        make_template(build, folder, account, account.own)

    def start(
        self, build: Build, config: ServerConfig, template: Path, placement: Placement
    ) -> engine.RocksDBEngine:
        """Make an empty database with the options of the configuration."""
        return engine.start(build, _command(build.home), config, template, placement)


def _program(home: Path) -> Path:
    """Return the benchmark in a home: of Debian's packages, or of a build made here."""
    packaged = home / _PACKAGED
    return packaged if packaged.exists() else home / compilation.PROGRAM


def _command(home: Path) -> tuple[str, ...]:
    """Return what runs the benchmark: that of a package needs the libraries it came with."""
    program = _program(home)
    return loaded(home, program) if program == home / _PACKAGED else (str(program),)
