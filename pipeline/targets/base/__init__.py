"""What every target owes: revisions, builds, configurations and a running server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pipeline.machine.account import Account
from pipeline.model import Build, Connection, Frozen, Machine, Revision, ServerConfig


class Archive(Protocol):
    """The little of a fetched archive that a target needs to install it."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def locator(self) -> str:
        """Where it came from."""
        ...

    @property
    def sha256(self) -> str:
        """Its checksum."""
        ...


class Placement(Frozen):
    """Where a server runs: its private folder, port, processors and account."""

    folder: Path
    port: int
    processors: tuple[int, ...]
    account: Account


class ServerError(Exception):
    """A server that no longer answers, or refuses what it is asked; the text is one line."""


class Server(Protocol):
    """A started server, ready for clients. What it is asked may raise :class:`ServerError`."""

    connection: Connection
    pid: int

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


class Target(Protocol):
    """One DBMS under test.

    Methods raise :class:`pipeline.errors.UserError` for what a user can mend.
    """

    name: str
    coordinates: str

    def revisions(self, versions: Sequence[str]) -> tuple[Revision, ...]:
        """Turn a source's versions into releases, ordered, one for each release."""
        ...

    def install(self, revision: Revision, archive: Archive, home: Path) -> Build:
        """Unpack an archive into ``home`` (which does not exist yet) and identify it."""
        ...

    def config(self, family: str, revision: Revision, machine: Machine) -> ServerConfig:
        """Return the named configuration for a revision, scaled to the machine."""
        ...

    def template(self, build: Build, folder: Path, account: Account) -> None:
        """Make the empty database that every repetition of a build starts from."""
        ...

    def start(
        self, build: Build, config: ServerConfig, template: Path, placement: Placement
    ) -> Server:
        """Start a server on a copy of the template and wait until it answers."""
        ...
