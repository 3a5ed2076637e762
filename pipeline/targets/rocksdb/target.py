"""RocksDB as a target: its builds, configurations and databases."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

from pipeline.machine.account import Account, find_account
from pipeline.model import Build, Machine, Revision, ServerConfig, Supply
from pipeline.targets.base import Counting, Identity, Placement
from pipeline.targets.base.archives import ArchiveMember, deb_members
from pipeline.targets.base.loader import loaded
from pipeline.targets.base.programs import reported_version
from pipeline.targets.base.templates import make_template
from pipeline.targets.rocksdb import compilation, configuration, engine, releases
from pipeline.text.errors import UserError

_REPOSITORY = "https://github.com/facebook/rocksdb.git"
_PACKAGED = "usr/bin/db_bench"
"""The path of db_bench in the folder of a build from Debian packages."""


class RocksDB:
    """RocksDB with its own benchmark db_bench, which is load generator and DBMS in one process."""

    name = "rocksdb"
    # The threads of the load generator; those of flushes and compaction call none of these.
    counting = Counting(
        entries=("rocksdb::DBImpl::Get", "rocksdb::DBImpl::NewIterator", "rocksdb::DBImpl::Write"),
        # It searches the bucket of a time that was taken, so it costs what the time says.
        waiting=frozenset({"rocksdb::HistogramBucketMapper::IndexForValue"}),
        threads=True,
        # What the allocator executes depends on the state of the heap.
        binaries=("librocksdb", "db_bench"),
    )
    embedded = True
    tools = (("bash", "runs scripts of RocksDB's Makefile"),)
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
    revisions = staticmethod(releases.revisions)
    recipe = staticmethod(compilation.recipe)
    configs = configuration.FILES.families
    with_setting = staticmethod(configuration.with_setting)
    background = staticmethod(configuration.background)

    def members(self, supply: Supply, archive: Path) -> Generator[ArchiveMember]:
        """Yield db_bench and all libraries from a folder of Debian packages."""
        if supply.kind == "archive":
            raise UserError(f"archives of {self.name} must be source code; remove prebuilt")
        return deb_members(archive, (_PACKAGED, "usr/lib", "usr/lib64"))

    def identify(self, home: Path) -> Identity:
        """Identify an installed build. Raises UserError if it is not RocksDB."""
        program = _program(home)
        if not program.exists():
            raise UserError(
                "the downloaded archive has no db_bench, so it is not a release of RocksDB"
            )
        version = reported_version(program, find_account(), command=_command(home))
        folder = program.relative_to(home).parts[0]
        return Identity(program=program, folders=(folder,), version=version)

    def config(self, family: str, revision: Revision, machine: Machine) -> ServerConfig:
        """Return the named configuration (``family``, as byrx) for a revision and machine."""
        made = configuration.FILES.config(family, revision, machine)
        exceeds = configuration.least_database(family, machine)
        return made.model_copy(update={"exceeds": exceeds})

    def initial_options(self, config: ServerConfig) -> tuple[str, ...]:
        """Return nothing: no option takes effect only when the database is created."""
        del config
        return ()

    def template(
        self, build: Build, folder: Path, account: Account, options: Sequence[str] = ()
    ) -> None:
        """Create the empty folder that every run of a build starts from."""
        make_template(build, folder, account, account.own)

    def start(
        self, build: Build, config: ServerConfig, template: Path, placement: Placement
    ) -> engine.RocksDBEngine:
        """Create an empty RocksDB database with the options of the configuration."""
        return engine.start(build, _command(build.home), config, template, placement)


def _program(home: Path) -> Path:
    """Return the path of db_bench in an installed build."""
    packaged = home / _PACKAGED
    return packaged if packaged.exists() else home / compilation.PROGRAM


def _command(home: Path) -> tuple[str, ...]:
    """Return the command of db_bench; from packages, it needs the libraries of its packages."""
    program = _program(home)
    return loaded(home, program) if program == home / _PACKAGED else (str(program),)
