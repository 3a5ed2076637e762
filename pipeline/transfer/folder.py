"""A folder that travels: its files are named in SHA256SUMS, and nothing else is taken from it."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from pipeline.durable import PARTIAL, write_whole
from pipeline.errors import UserError

SUMS = "SHA256SUMS"
"""The checksums, as `sha256sum --check` reads them."""

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=#@-]*")
"""What each part of a name is made of: no way out of a folder, and nothing hidden in one."""

_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+=#@-]*(\.\d+)?")
"""What folders are called: none like a file, in whose place it would be."""

_UNFINISHED = re.compile(rf"\.{SUMS}\.\w+{re.escape(PARTIAL)}")
"""What who was killed left of writing the checksums."""

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
        folder.mkdir(parents=True, exist_ok=True)
        write_sums(folder, {name: sha256(folder / name) for name in files})
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}") from error


def write_sums(folder: Path, sums: Mapping[str, str]) -> None:
    """Write the checksums of files, by their names, into their folder."""
    write_whole(folder / SUMS, "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)))


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
    sums = parse_sums(text, within, str(folder))
    there = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    there = {name for name in there if not _UNFINISHED.fullmatch(name)}
    if odd := sorted(there - sums.keys() - {SUMS}):
        raise UserError(f"{folder} holds {odd[0]}, which {SUMS} does not name")
    for name, expected in sums.items():
        path = folder / name
        if path.is_symlink() or not path.is_file() or sha256(path) != expected:
            raise UserError(f"{path} is missing or altered; copy the folder again")
    return sums


def parse_sums(text: str, within: Iterable[str], place: str) -> dict[str, str]:
    """Return the checksums that a file of them holds, by names.

    ``within`` are the folders and files that may come, and ``place`` is what brings them. Raises
    UserError for a line that names no file, and for a file that has no place here.
    """
    sums: dict[str, str] = {}
    allowed = tuple(within)
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        name = found[2] if found else line
        if found is None or name in sums or not is_file(name):
            raise UserError(f"{place}/{SUMS} has a line that names no file: {name[:80]!r}")
        if PurePosixPath(name).parts[0] not in allowed:
            raise UserError(f"{place} brings {name}, which has no place here")
        sums[name] = found[1]
    return sums


def is_file(name: str) -> bool:
    """Say whether this is the name of a file that travels: in folders, none of which is a file."""
    *folders, last = PurePosixPath(name).parts or ("",)
    return (
        name == "/".join([*folders, last])
        and all(map(_FOLDER.fullmatch, folders))
        and _PART.fullmatch(last) is not None
        and "." in last
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
