"""A folder for transfer: its file SHA256SUMS lists the files that may be collected from it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from pipeline.files.atomic_write import PARTIAL, write_atomically
from pipeline.files.checksum import sha256
from pipeline.text.errors import UserError
from pipeline.transfer.places.base import LARGEST

SUMS = "SHA256SUMS"
"""The checksum file, in the format of `sha256sum --check`."""

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=#@-]*")
"""The pattern of a name's parts: no path out of the folder, and no hidden file."""

_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+=#@-]*(\.\d+)?")
"""The pattern of folder names. No folder name looks like a file name, so that no folder can replace
a file."""

_UNFINISHED = re.compile(rf"\.{SUMS}\.\w+{re.escape(PARTIAL)}")
"""The pattern of temporary files that a killed process left while writing the checksums."""

LONGEST_SUMS = 256 << 20
"""Maximum size of a checksum file in bytes: two million lines."""

_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def send(folder: Path, files: Mapping[str, Path]) -> None:
    """Copy files into a folder for transfer; their checksums come last.

    Files of an earlier attempt are overwritten. Raises UserError for a folder that is not writable.
    """
    try:
        for name, source in files.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)
        folder.mkdir(parents=True, exist_ok=True)
        write_sums(folder, {name: sha256(folder / name) for name in files})
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written: {error.strerror}; correct this, or name another folder"
        ) from error


def write_sums(folder: Path, sums: Mapping[str, str]) -> None:
    """Write the checksums of files into their folder."""
    write_atomically(folder / SUMS, "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)))


def received(folder: Path, within: Iterable[str]) -> dict[str, str]:
    """Return the files of a received folder with their checksums, all verified.

    ``within`` are the permitted folders and files. Raises UserError if a file is missing, altered,
    a link, not permitted or without a checksum; the caller must then collect nothing.
    """
    path = folder / SUMS
    try:
        if path.is_symlink() or path.stat().st_size > LONGEST_SUMS:
            raise UserError(f"{path} is a link or too large; copy the folder again")
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{folder} has no readable {SUMS}; give a folder that `nightshift pack` wrote"
        ) from error
    sums = parse_sums(text, within, str(folder))
    there = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    there = {name for name in there if not _UNFINISHED.fullmatch(name)}
    if odd := sorted(there - sums.keys() - {SUMS}):
        raise UserError(
            f"{folder} holds {odd[0]}, which is not listed in {SUMS}; copy the folder again"
        )
    for name, expected in sums.items():
        path = folder / name
        if path.is_file() and path.stat().st_size > LARGEST:
            raise UserError(f"{path} is larger than any file that nightshift writes; it is refused")
        if path.is_symlink() or not path.is_file() or sha256(path) != expected:
            raise UserError(f"{path} is missing or altered; copy the folder again")
    return sums


def parse_sums(text: str, within: Iterable[str], place: str) -> dict[str, str]:
    """Parse a file of checksums; return them by file name.

    ``within`` are the permitted folders and files, ``place`` names their source in errors. Raises
    UserError for a line without a file name, and for a file that is not permitted.
    """
    sums: dict[str, str] = {}
    allowed = tuple(within)
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        name = found[2] if found else line
        if found is None or name in sums or not is_file(name):
            raise UserError(f"{place}/{SUMS} has an invalid line: {name[:80]!r}; pack again")
        if PurePosixPath(name).parts[0] not in allowed:
            raise UserError(
                f"{place} holds {name}, which is not a file that nightshift collects; pack again"
            )
        sums[name] = found[1]
    return sums


def is_file(name: str) -> bool:
    """Whether a file with this name may be transferred."""
    *folders, last = PurePosixPath(name).parts or ("",)
    return (
        name == "/".join([*folders, last])
        and all(map(_FOLDER.fullmatch, folders))
        and _PART.fullmatch(last) is not None
        and "." in last
    )


def take(source: Path, place: Path) -> None:
    """Copy a file atomically: it appears complete or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = place.with_name(f"{place.name}.partial")
    shutil.copyfile(source, partial)
    partial.rename(place)
