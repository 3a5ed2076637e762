"""What every target owes: revisions, builds, configurations and a running server."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from pydantic import Field

from pipeline.machine.account import Account
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
from pipeline.targets.base.archives import Member


class Placement(Frozen):
    """Where a server runs: its private folder, port, processors and account."""

    folder: Path
    port: int
    processors: tuple[int, ...]
    account: Account


class ServerError(Exception):
    """A server that no longer answers, or refuses what it is asked; the text is one line."""


Ask = Callable[[], Mapping[str, float]]
"""Asks once, and returns the present value of each field that is available."""


class Activity(NamedTuple):
    """What a DBMS tells of its work beside the statements: vacuum, purge, checkpoints, debt.

    The names of the ``fields`` begin with ``dbms.``. ``session`` is held while it is asked, once
    a second through a step, from a thread of its own; asking may raise :class:`ServerError`.
    """

    fields: tuple[SampledField, ...]
    session: Callable[[], AbstractContextManager[Ask]]


class Server(Protocol):
    """A started server, ready for clients. What it is asked may raise :class:`ServerError`.

    ``activity`` is what it does beside the statements of its clients; None if it does not tell.
    """

    connection: Connection
    activity: Activity | None

    @property
    def pid(self) -> int | None:
        """Return its first process; None for a DBMS that runs inside the load generator."""
        ...

    def settings(self) -> Mapping[str, str]:
        """Return every variable the server reports, by name."""
        ...

    def maintain(self, tables: Sequence[str]) -> None:
        """Do the postwrite maintenance: pay the debt that writes left."""
        ...

    def database_bytes(self) -> int:
        """Return the size of the database."""
        ...

    def stop(self) -> None:
        """Stop the server and every process of it. Safe to call twice."""
        ...


class StartError(ServerError):
    """A server that ended by itself, or never answered, when it was started."""


class Identity(Frozen):
    """What an installed build says of itself.

    ``program`` is the one that does the work, ``folders`` are those of the home whose files make
    a build what it is, ``version`` is what the program calls itself, ``made`` when its source code
    was made, of a program that says so.
    """

    program: Path
    folders: tuple[str, ...]
    version: str
    made: datetime | None = None


class Recipe(Frozen):
    """The commands that make a build from source code, in order, and where they run.

    Each command is run in ``folder`` of the source tree, without a shell; ``environment`` is
    added to what all builds see. ``copies`` are then copied into the home: a file or folder of
    the tree, and its name there.
    """

    commands: tuple[tuple[str, ...], ...]
    folder: str = "."
    environment: dict[str, str] = Field(default_factory=dict)
    copies: tuple[tuple[str, str], ...] = ()


class Compilation(Frozen):
    """What a recipe is asked for: the unpacked ``tree``, the ``home`` to install into.

    ``compiler`` is the command of the compiler, a compiler cache before it if there is one;
    ``flags`` are those of the options, link-time optimisation included.
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
    """One DBMS under test.

    Methods raise :class:`pipeline.errors.UserError` for what a user can mend.
    """

    name: str

    @property
    def supplies(self) -> tuple[Supply, ...]:
        """Where its revisions can be had; the first is what a line takes that does not choose."""
        ...

    @property
    def tools(self) -> tuple[tuple[str, str], ...]:
        """What compiling it needs besides compiler and make, each with what it is for."""
        ...

    def revisions(self, supply: Supply, versions: Sequence[str]) -> tuple[Revision, ...]:
        """Turn a source's versions into releases, ordered, one for each release."""
        ...

    def members(self, supply: Supply, archive: Path) -> Generator[Member]:
        """Give the program files of a prebuilt release, as their names are in its home."""
        ...

    def recipe(self, work: Compilation) -> Recipe:
        """Say how a revision is built from source code.

        Raises UserError for a target that never is, and
        :class:`pipeline.targets.base.compile.CompileError` for a tree that cannot be.
        """
        ...

    def identify(self, home: Path) -> Identity:
        """Look at an installed build. Raises UserError for what is no build of this DBMS."""
        ...

    def config(self, family: str, revision: Revision, machine: Machine) -> ServerConfig:
        """Return the named configuration for a revision, scaled to the machine."""
        ...

    def with_setting(self, config: ServerConfig, name: str, value: str) -> ServerConfig:
        """Return a configuration in which a setting has a value, both as a server reports them.

        Raises :class:`pipeline.targets.base.configurations.NotASettingError` for what no
        configuration can set. That a server takes the value is seen when it is started.
        """
        ...

    def template(self, build: Build, folder: Path, account: Account) -> None:
        """Make the empty database that every repetition of a build starts from."""
        ...

    def start(
        self, build: Build, config: ServerConfig, template: Path, placement: Placement
    ) -> Server:
        """Start a server on a copy of the template and wait until it answers."""
        ...
