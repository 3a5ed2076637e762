"""The interface of places (folders elsewhere), and checks of their answers."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from pipeline.text.errors import UserError

LARGEST = 1 << 30
"""Maximum size in bytes of a file from a place: no bundle unpacks to more."""

MOST = 1_000_000
"""Maximum number of files and folders in a folder: a century of nights has fewer bundles."""

CHUNK = 1 << 20
"""Bytes to read or write at a time."""

_ODD = re.compile(r"[/\\\x00-\x1f\x7f]")
"""Characters that a file name from a place must not contain: separators and control characters."""


class PlaceError(UserError):
    """A place cannot be used: it cannot be reached, denies access, or sends an invalid answer."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(f"{place} {message}")
        self.place = place


class ChangedError(PlaceError):
    """A file at a place changed since it was listed."""


@dataclass(frozen=True)
class FileEntry:
    """A file at a place: its size, and a stamp that changes when the file does."""

    size: int
    stamp: str


@dataclass(frozen=True)
class Listing:
    """The files and folders in one folder of a place, by name."""

    files: Mapping[str, FileEntry]
    folders: frozenset[str]


@dataclass(frozen=True)
class Access:
    """How places are reached: settings, and keys from the environment.

    ``ssh_config`` is a file for ``ssh -F``; empty for the user's own configuration. ``endpoint``
    and ``region`` are those of the object storage; ``key_variable`` and ``signing_variable`` name
    the variables in ``environment`` that hold the keys.
    """

    ssh_config: str = ""
    endpoint: str = ""
    region: str = ""
    key_variable: str = ""
    signing_variable: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


class Place(ABC):
    """A folder on this or another machine, or in object storage.

    Names are relative to the place, with ``/`` between their parts. Every method raises PlaceError
    if the place cannot be reached or denies access.
    """

    name: str
    """The name of the place in messages: its address, without secrets."""

    @abstractmethod
    def look(self, folder: str = "") -> Listing:
        """Return the content of a folder of the place; empty if the folder does not exist."""

    @abstractmethod
    def read(self, name: str, entry: FileEntry, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of a file from ``start`` on.

        Raises ChangedError if the file changed or is gone.
        """

    @abstractmethod
    def write(self, name: str, source: Path) -> None:
        """Write a file atomically: it appears complete; an existing file is replaced."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""

    def close(self) -> None:  # noqa: B027 (most places hold nothing open)
        """Close the connections to the place."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def part(place: str, name: str) -> str:
    """Return a file name that a place reported, after checking that it is safe.

    Raises PlaceError for a name that leads out of the folder: answers of a place are not trusted.
    """
    if name in ("", ".", "..") or _ODD.search(name):
        raise PlaceError(
            place, f"lists {name[:80]!r}, which is not a valid file name: nothing was collected"
        )
    return name


def check_file_count(place: str, folder: str, number: int) -> None:
    """Refuse a folder with far more files than nightshift writes. Raises PlaceError."""
    if number > MOST:
        raise PlaceError(
            place,
            (f"has more than {MOST} files in {folder or 'its top folder'}: nothing was collected"),
        )


def walk(place: Place, folder: str) -> dict[str, FileEntry]:
    """Return all files below a folder of a place, by their paths."""
    found: dict[str, FileEntry] = {}
    waiting, looked = [folder], 0
    while waiting:
        below = waiting.pop()
        looked += 1
        listing = place.look(below)
        found |= {f"{below}/{name}": entry for name, entry in listing.files.items()}
        check_file_count(place.name, folder, len(found) + looked)
        # Our folders are less deep; an untrusted place may be infinitely deep.
        if below.count("/") < _DEEPEST:
            waiting += [f"{below}/{name}" for name in sorted(listing.folders)]
    return found


_DEEPEST = 8
"""Maximum depth of folders in :func:`walk`; experiments have two levels."""
