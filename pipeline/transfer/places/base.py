"""What every kind of place can do, and what is believed of what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from pipeline.errors import UserError

LARGEST = 1 << 30
"""Bytes of a file that is taken from a place: no bundle unpacks to more than this."""

MOST = 1_000_000
"""Files and folders in one folder of a place: bundles of a century of nights are fewer."""

CHUNK = 1 << 20
"""Bytes that are read or written at a time."""

_ODD = re.compile(r"[/\\\x00-\x1f\x7f]")
"""What is in no part of a name: a way out of a folder, or out of a line."""


class PlaceError(UserError):
    """A place that cannot be used: it is not reached, it says no, or what it says is not taken."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(f"{place} {message}")
        self.place = place


class ChangedError(PlaceError):
    """A file that is not as it was listed any more."""


@dataclass(frozen=True)
class Entry:
    """A file as a place lists it: its bytes, and a stamp that changes when it is written anew."""

    size: int
    stamp: str


@dataclass(frozen=True)
class Listing:
    """What is in one folder of a place, by names; what is neither file nor folder is left out."""

    files: Mapping[str, Entry]
    folders: frozenset[str]


@dataclass(frozen=True)
class Access:
    """What places are opened with: settings, and the environment that has the keys.

    ``ssh_config`` is a file for ``ssh -F``, ``""`` for that of the user. ``endpoint`` and
    ``region`` are those of the object storage; ``key_variable`` and ``signing_variable`` name what
    holds the keys in ``environment``.
    """

    ssh_config: str = ""
    endpoint: str = ""
    region: str = ""
    key_variable: str = ""
    signing_variable: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


class Place(Protocol):
    """A folder somewhere. A context: what it holds open is closed at its end.

    Names are relative to it, with ``/`` between their parts. Every method raises PlaceError where
    the place cannot be reached or says no.
    """

    name: str
    """What messages call it: its address, in which no secret is."""

    def look(self, folder: str = "") -> Listing:
        """Return what is in a folder; nothing for one that is not there."""

    def read(self, name: str, entry: Entry, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of a file from ``start`` on, as it was listed.

        Raises ChangedError for one that is another now, or gone.
        """

    def write(self, name: str, source: Path) -> None:
        """Put a file there, whole or not at all, in place of one of this name."""

    def remove(self, name: str) -> None:
        """Remove a file; one that is gone already is no mistake."""

    def __enter__(self) -> Self:
        """Use the place."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close what is open."""


def part(place: str, name: str) -> str:
    """Return a name that a place lists in a folder, once it is one.

    Raises PlaceError for one that leads elsewhere: nothing else that such a place says is to be
    believed.
    """
    if name in ("", ".", "..") or _ODD.search(name):
        raise PlaceError(
            place, f"lists {name[:80]!r}, which is no name of a file: nothing is taken"
        )
    return name


def counted_in(place: str, folder: str, number: int) -> None:
    """Refuse a folder of more files than any of ours has. Raises PlaceError."""
    if number > MOST:
        raise PlaceError(place, f"has more than {MOST} files in {folder or 'it'}: nothing is taken")


def walk(place: Place, folder: str) -> dict[str, Entry]:
    """Return all files in a folder of a place and below it, by their names in the place."""
    found: dict[str, Entry] = {}
    waiting, looked = [folder], 0
    while waiting:
        below = waiting.pop()
        looked += 1
        listing = place.look(below)
        found |= {f"{below}/{name}": entry for name, entry in listing.files.items()}
        counted_in(place.name, folder, len(found) + looked)
        # None of ours is deeper; a place may be, without end.
        if below.count("/") < _DEEPEST:
            waiting += [f"{below}/{name}" for name in sorted(listing.folders)]
    return found


_DEEPEST = 8
"""Folders below one that is walked; experiments have two."""
