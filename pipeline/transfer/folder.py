"""A folder that travels: its files are named in SHA256SUMS, and nothing else is taken from it."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from pipeline.errors import UserError

SUMS = "SHA256SUMS"
"""The checksums, as `sha256sum --check` reads them."""

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=#@-]*")
"""What each part of a name is made of: no way out of a folder, and nothing hidden in one."""

_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+=#@-]*(\.\d+)?")
"""What folders are called: none like a file, in whose place it would be."""

_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def send(folder: Path, files: Mapping[str, Path]) -> None:
    """Copy files into ``folder`` by their names there, and write their checksums last.

    What an earlier attempt left in it is written over. Raises UserError for a folder that cannot
    be written.
    """
    try:
        for name, source in files.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)
        sums = "".join(f"{sha256(folder / name)}  {name}\n" for name in sorted(files))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SUMS).write_text(sums)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}") from error


def received(folder: Path, within: Iterable[str]) -> dict[str, str]:
    """Return the checksums of the files that a folder brings, by their names, all verified.

    ``within`` are the folders and files that may come. Raises UserError, and nothing is to be taken
    then, for a file that is missing, altered, linked or not among these, and for one that has no
    checksum.
    """
    try:
        text = (folder / SUMS).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{folder} has no {SUMS} that can be read; give a folder that `nightshift pack` wrote"
        ) from error
    sums: dict[str, str] = {}
    allowed = tuple(within)
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        name = found[2] if found else line
        parts = PurePosixPath(name).parts
        if found is None or name in sums or not _is_file(parts):
            raise UserError(f"{folder / SUMS} has a line that names no file: {name[:80]!r}")
        if parts[0] not in allowed:
            raise UserError(f"{folder} brings {name}, which has no place here")
        sums[name] = found[1]
    there = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    if odd := sorted(there - sums.keys() - {SUMS}):
        raise UserError(f"{folder} holds {odd[0]}, which {SUMS} does not name")
    for name, expected in sums.items():
        path = folder / name
        if path.is_symlink() or not path.is_file() or sha256(path) != expected:
            raise UserError(f"{path} is missing or altered; copy the folder again")
    return sums


def _is_file(parts: Sequence[str]) -> bool:
    """Say whether these are the parts of a file's name: folders, and one that is none."""
    folders, last = parts[:-1], parts[-1:]
    return all(map(_FOLDER.fullmatch, folders)) and any(
        _PART.fullmatch(part) and "." in part for part in last
    )


def sha256(path: Path) -> str:
    """Return the checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def take(source: Path, place: Path) -> None:
    """Copy a file so that it is there whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = place.with_name(f"{place.name}.partial")
    shutil.copyfile(source, partial)
    partial.rename(place)
