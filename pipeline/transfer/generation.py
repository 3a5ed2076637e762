"""Generations of a backup: what they say, and how they are found at a place.

``objects/`` holds each content once, named by its SHA-256. ``generations/`` has a file for each
backup, written last, that says what was where; its name ends in its own checksum.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC
from pathlib import Path

from pydantic import AwareDatetime, Field, ValidationError

from pipeline.model import Frozen
from pipeline.transfer.places.base import LARGEST, Entry, Place, PlaceError

RESULTS, GRAFANA, CONFIG = "results", "grafana", "nightshift.toml"
"""What the names in a generation begin with: the results, Grafana's own folder, or the file."""

_OBJECTS, _GENERATIONS = "objects", "generations"
_SCHEMA = 1
_NAME = re.compile(r"\d{8}T\d{6}\.\d{6}Z-([0-9a-f]{16})\.json")


class Kept(Frozen):
    """The content of one file. ``modified`` is when it was written (ns), to know it again."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)
    modified: int = 0

    @property
    def place(self) -> str:
        """Where its content is, at the place."""
        return f"{_OBJECTS}/{self.sha256}.data"


class Generation(Frozen):
    """One backup: its files, by the names that they are restored by."""

    schema_version: int = _SCHEMA
    at: AwareDatetime
    files: dict[str, Kept]


def generations(place: Place) -> list[str]:
    """Return the names of the generations at a place, from the oldest on."""
    return sorted(name for name in place.look(_GENERATIONS).files if _NAME.fullmatch(name))


def contents(place: Place) -> dict[str, Entry]:
    """Return the contents that are at a place, by where they are."""
    return {f"{_OBJECTS}/{name}": entry for name, entry in place.look(_OBJECTS).files.items()}


def read_generation(place: Place, name: str) -> Generation:
    """Return a generation. Raises PlaceError for one that is gone, damaged or newer."""
    entry = place.look(_GENERATIONS).files.get(name)
    found = _NAME.fullmatch(name)
    if entry is None or found is None or entry.size > LARGEST:
        raise PlaceError(place.name, f"has no generation {name}")
    data = b"".join(place.read(f"{_GENERATIONS}/{name}", entry))
    if not hashlib.sha256(data).hexdigest().startswith(found[1]):
        raise PlaceError(place.name, f"has a damaged generation {name}; take an older one")
    try:
        generation = Generation.model_validate_json(data)
    except ValidationError as error:
        raise PlaceError(
            place.name, f"has a generation {name} that this nightshift does not know; upgrade it"
        ) from error
    if generation.schema_version > _SCHEMA:
        raise PlaceError(place.name, f"has a generation {name} of a newer nightshift: upgrade")
    return generation


def write_generation(place: Place, generation: Generation, scratch: Path) -> str:
    """Write a generation, by way of a folder for it here; return its name."""
    data = generation.model_dump_json(indent=1).encode()
    moment = generation.at.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    name = f"{moment}-{hashlib.sha256(data).hexdigest()[:16]}.json"
    (scratch / name).write_bytes(data)
    place.write(f"{_GENERATIONS}/{name}", scratch / name)
    return name


def remove_generations(place: Place, old: list[str], stays: list[str]) -> None:
    """Remove generations, and then the contents that none which stays has.

    Raises PlaceError, before anything is removed, for one of either that cannot be read.
    """
    needed = {each.place for name in stays for each in read_generation(place, name).files.values()}
    had = {each.place for name in old for each in read_generation(place, name).files.values()}
    for name in old:
        place.remove(f"{_GENERATIONS}/{name}")
    for content in sorted(had - needed):
        place.remove(content)
