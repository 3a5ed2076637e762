"""The interface of a target: revisions, builds, configurations and a running server."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from pydantic import Field

from pipeline.machine.account import Account
from pipeline.machine.tasks import Task
from pipeline.model import (
    Build,
    BuildOptions,
    Connection,
    Frozen,
    Machine,
    Revision,
    SampledField,
    ServerConfig,
    Supply,
)
from pipeline.model.counts import LONGER
from pipeline.targets.base.archives import ArchiveMember


class Placement(Frozen):
    """Where a server runs: its private folder, port, processors and account.

    ``processors`` are all processors of the server; ``background`` are those of them that are
    reserved for its background work, if any.

    ``instrument`` is a command that runs the server's program and counts its instructions; empty
    for a server that is timed. ``limit`` is a command prefix that limits the memory of the program
    after it; empty for no limit.
    """

    folder: Path
    port: int
    processors: tuple[int, ...]
    account: Account
    instrument: tuple[str, ...] = ()
    limit: tuple[str, ...] = ()
    background: tuple[int, ...] = ()

    @property
    def serving(self) -> tuple[int, ...]:
        """The processors for the processes or threads that serve clients."""
        return tuple(sorted(set(self.processors).difference(self.background)))


class Counting(Frozen):
    """Which instructions of a DBMS execute clients' statements, for counted runs.

    ``entries`` are functions: a process, or with ``threads`` a thread, that runs one of them serves
    a client. Without ``entries``, the only process serves the client. ``waiting`` are functions in
    which a serving process waits for the client; how often they run depends on timing, so they are
    counted separately. If ``binaries`` is not empty, only functions of programs and libraries whose
    file names begin with one of them are counted. ``settings`` are settings of the server that keep
    background work from changing the cost of a statement. ``held_back`` stops other background work
    while a step is counted.
    ``longer`` is the length of the longer run of a step, as a multiple of the shorter run's: larger
    where rare work, such as a new undo segment, is a large share of the cost.
    """

    entries: tuple[str, ...] = ()
    waiting: frozenset[str] = frozenset()
    threads: bool = False
    binaries: tuple[str, ...] = ()
    settings: dict[str, str] = Field(default_factory=dict)
    held_back: Callable[[Connection], AbstractContextManager[None]] = lambda _: nullcontext()
    longer: int = LONGER


class ServerError(Exception):
    """A server no longer answers, or refused a request; the text says why in one line."""


Ask = Callable[[], Mapping[str, float]]
"""A function that queries the server once and returns the present values of its activity fields."""


class Activity(NamedTuple):
    """The background work of a DBMS: vacuum, purge, checkpoints, compaction.

    The names of the ``fields`` begin with ``dbms.``. A separate thread keeps the ``session`` open
    throughout a step and queries it once a second. A query may raise :class:`ServerError`.
    """

    fields: tuple[SampledField, ...]
    session: Callable[[], AbstractContextManager[Ask]]


class Server(Protocol):
    """A started server, ready for clients. Its methods may raise :class:`ServerError`.

    ``activity`` is None for a server that does not report any.
    """

    connection: Connection
    activity: Activity | None

    @property
    def pid(self) -> int | None:
        """The id of the server's first process; None for a DBMS inside the load generator."""
        ...

    def serves(self, task: Task) -> bool | None:
        """Return whether a process or thread of the DBMS serves clients; None if unknown."""
        ...

    def settings(self) -> Mapping[str, str]:
        """Return every variable the server reports, by name."""
        ...

    def maintain(self, tables: Sequence[str]) -> None:
        """Do work that writes have deferred, such as vacuum, before the read steps."""
        ...

    def database_bytes(self) -> int:
        """Return the size of the database in bytes."""
        ...

    def stop(self) -> None:
        """Stop the server and all its processes. Safe to call twice."""
        ...


class StartError(ServerError):
    """A server exited during its start, or never answered."""


class Identity(Frozen):
    """What an installed build is: its program files, their hash, and its version.

    ``program`` is the executable that does the work. ``folders`` are the folders of the
    installation whose files define the build. ``version`` is what the program prints as its
    version. ``made`` is the time of the source code, if the program reports it.
    """

    program: Path
    folders: tuple[str, ...]
    version: str
    made: datetime | None = None


class Recipe(Frozen):
    """How to compile a build: the commands in order, and the files to install.

    Each command runs in ``folder`` of the source tree, without a shell. ``environment`` is added to
    the environment of all builds. ``copies`` are copied at the end: pairs of a file or folder in
    the source tree and its path in the folder of the build.
    """

    commands: tuple[tuple[str, ...], ...]
    folder: str = "."
    environment: dict[str, str] = Field(default_factory=dict)
    copies: tuple[tuple[str, str], ...] = ()


class Compilation(Frozen):
    """What a recipe works with: the folder of source code, the folder to install into.

    ``compiler`` is the command of the compiler, with a compiler cache in front if there is one.
    ``flags`` are the compiler flags of the build options, link-time optimisation included.
    """

    revision: Revision
    tree: Path
    home: Path
    options: BuildOptions
    compiler: str
    cxx: str
    flags: str
    jobs: int


class Target(Protocol):
    """One DBMS under test: its revisions, builds, configurations and servers.

    Methods raise :class:`pipeline.text.errors.UserError` for an error that a user can fix.
    """

    name: str
    counting: Counting
    embedded: bool
    """Whether the DBMS runs inside the load generator, without a server."""

    @property
    def supplies(self) -> tuple[Supply, ...]:
        """Where the revisions of this DBMS can come from; lines use the first by default."""
        ...

    @property
    def tools(self) -> tuple[tuple[str, str], ...]:
        """The tools needed to compile this DBMS, besides compiler and make, and their purposes."""
        ...

    def revisions(self, supply: Supply, versions: Sequence[str]) -> tuple[Revision, ...]:
        """Convert the version names of a source into releases, in order, one for each release."""
        ...

    def members(self, supply: Supply, archive: Path) -> Generator[ArchiveMember]:
        """Yield the files of a prebuilt release that are needed in the build's folder."""
        ...

    def recipe(self, work: Compilation) -> Recipe:
        """Return the recipe that builds a revision from source code.

        Raises UserError if the machine lacks tools or headers, and
        :class:`pipeline.targets.base.compile.CompileError` for a tree that cannot be built.
        """
        ...

    def identify(self, home: Path) -> Identity:
        """Identify the version of an installed build. Raises UserError for another program."""
        ...

    def configs(self) -> Mapping[str, tuple[str, ...]]:
        """Return the published configurations, each with the majors that it has a file for."""
        ...

    def config(self, family: str, revision: Revision, machine: Machine) -> ServerConfig:
        """Return the named configuration for a revision, scaled to the machine.

        Commits of one major have the same configuration on a machine.
        """
        ...

    def background(self, config: ServerConfig, major: str) -> int:
        """Return how many processes or threads do background work at once.

        Those that serve clients are not counted. ``major`` is the revision's major, which
        determines the defaults of settings; empty for the newest code.
        """
        ...

    def with_setting(self, config: ServerConfig, name: str, value: str) -> ServerConfig:
        """Return a configuration with one setting changed, named as servers report it.

        Raises :class:`pipeline.targets.base.configurations.NotASettingError` for a variable that no
        configuration can set. Only the start of a server shows whether it accepts the value.
        """
        ...

    def initial_options(self, config: ServerConfig) -> tuple[str, ...]:
        """Return the options that take effect only when a database is created."""
        ...

    def template(
        self, build: Build, folder: Path, account: Account, options: Sequence[str] = ()
    ) -> None:
        """Create the empty database that every run of a build starts from.

        ``options`` are those of :meth:`initial_options`.
        """
        ...

    def start(
        self, build: Build, config: ServerConfig, template: Path, placement: Placement
    ) -> Server:
        """Start a server on a copy of the template and wait until it answers."""
        ...
