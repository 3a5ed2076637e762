"""Backups as generations: each lists its files; equal contents are stored once.

``objects/`` holds each content once, named by its SHA-256. ``generations/`` has a file for each
backup, written last, that maps names to contents; its name ends in its own checksum.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC
from pathlib import Path

from pydantic import AwareDatetime, Field, ValidationError

from pipeline.model import Frozen
from pipeline.transfer.places.base import LARGEST, FileEntry, Place, PlaceError

RESULTS, GRAFANA, CONFIG = "results", "grafana", "nightshift.toml"
"""The prefixes of file names in a backup: the results, Grafana's folder, the configuration file."""

_OBJECTS, _GENERATIONS = "objects", "generations"
_SCHEMA = 1
_NAME = re.compile(r"\d{8}T\d{6}\.\d{6}Z-([0-9a-f]{16})\.json")


class BackedUpFile(Frozen):
    """One file in a backup: the checksum of its content and its time."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)
    modified: int = 0

    @property
    def place(self) -> str:
        """The path of the file's content at the backup's place."""
        return f"{_OBJECTS}/{self.sha256}.data"


class Generation(Frozen):
    """One backup: its files by the names to which they are restored."""

    schema_version: int = _SCHEMA
    at: AwareDatetime
    files: dict[str, BackedUpFile]


def generations(place: Place) -> list[str]:
    """Return the names of all backups at a place, oldest first."""
    return sorted(name for name in place.look(_GENERATIONS).files if _NAME.fullmatch(name))


def contents(place: Place) -> dict[str, FileEntry]:
    """Return the stored file contents of a place, by their paths."""
    return {f"{_OBJECTS}/{name}": entry for name, entry in place.look(_OBJECTS).files.items()}


def read_generation(place: Place, name: str) -> Generation:
    """Read a backup's list of files. Raises PlaceError if it cannot be used."""
    entry = place.look(_GENERATIONS).files.get(name)
    found = _NAME.fullmatch(name)
    if entry is None or found is None or entry.size > LARGEST:
        raise PlaceError(place.name, f"has no backup {name}")
    data = b"".join(place.read(f"{_GENERATIONS}/{name}", entry))
    if not hashlib.sha256(data).hexdigest().startswith(found[1]):
        raise PlaceError(
            place.name, f"has the damaged backup {name}; choose an older one with --at"
        )
    try:
        generation = Generation.model_validate_json(data)
    except ValidationError as error:
        raise PlaceError(
            place.name, f"has the backup {name} in an unknown format: upgrade nightshift"
        ) from error
    if generation.schema_version > _SCHEMA:
        raise PlaceError(
            place.name, f"has the backup {name} of a newer nightshift: upgrade nightshift"
        )
    return generation


def write_generation(place: Place, generation: Generation, scratch: Path) -> str:
    """Write a backup's list of files to a place; return its name."""
    data = generation.model_dump_json(indent=1).encode()
    moment = generation.at.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    name = f"{moment}-{hashlib.sha256(data).hexdigest()[:16]}.json"
    (scratch / name).write_bytes(data)
    place.write(f"{_GENERATIONS}/{name}", scratch / name)
    return name


def remove_generations(place: Place, old: list[str], stays: list[str]) -> None:
    """Remove old backups, and contents that no other backup needs.

    Raises PlaceError, before anything is removed, if a generation in ``old`` or ``stays`` is
    unreadable.
    """
    needed = {each.place for name in stays for each in read_generation(place, name).files.values()}
    had = {each.place for name in old for each in read_generation(place, name).files.values()}
    for name in old:
        place.remove(f"{_GENERATIONS}/{name}")
    for content in sorted(had - needed):
        place.remove(content)
