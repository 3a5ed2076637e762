"""Reading what measuring a pull request left, which whoever opened it may have made up.

It is a zip archive as GitHub's API gives it, or a folder. Members are read into memory, by names
of ours; nothing is ever unpacked, and nothing is read that was not counted before.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from pipeline.transfer.folder import SUMS

LARGEST = 64 << 20
"""Bytes of an artifact, as it is packed."""

MEMBERS = 1000
"""Members of an artifact: the bundles of a comparison are 120 at most."""

LARGEST_MEMBER = 2 << 20
"""Bytes of a member that is read, unpacked: 500 figures of 40 blocks are 1.2 MB."""

RATIO = 100
"""How many times smaller a member may be packed; numbers make 3 to 10."""

_CENTRAL = b"PK\x01\x02"
"""With this each entry of an archive's directory begins (APPNOTE.TXT of PKWARE, 4.3.12)."""

_ENCRYPTED = 0x1
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

Read = Callable[[str], bytes]
"""Returns a member of this name. Raises RefusedArtifactError."""


class RefusedArtifactError(Exception):
    """An artifact that is not looked at any further; the text, which is ours, says why."""


def read_member(place: Path, name: str) -> bytes:
    """Return a member of an artifact that has the checksum which the artifact names.

    Raises RefusedArtifactError for an artifact that is not as ours.
    """
    try:
        place = packed_in(place)
        read = _folder(place) if place.is_dir() else _archive(_bytes(place, LARGEST))
        data, sums = read(name), read(SUMS)
    except OSError as error:
        raise RefusedArtifactError(f"the artifact cannot be read ({error.strerror})") from None
    if f"{hashlib.sha256(data).hexdigest()}  {name}".encode() not in sums.splitlines():
        raise RefusedArtifactError(f"the artifact is damaged: {name} is not what {SUMS} says")
    return data


def packed_in(place: Path) -> Path:
    """Return the archive that is alone in a folder, as downloads leave it; or else the place."""
    found = list(place.iterdir()) if place.is_dir() else []
    return found[0] if len(found) == 1 and found[0].suffix == ".zip" else place


def _folder(place: Path) -> Read:
    """Read from a folder that somebody else unpacked: files of our names, and no links."""
    return lambda name: _bytes(place / name, LARGEST_MEMBER)


def _bytes(path: Path, largest: int) -> bytes:
    # Neither follows a link nor waits for who is at the other end of a pipe.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise RefusedArtifactError("the artifact is refused: what should be a file is none")
        data = file.read(largest + 1)
    if len(data) > largest:
        raise RefusedArtifactError("the artifact is refused: it is too large")
    return data


def _archive(data: bytes) -> Read:
    # Counted before anybody makes something of each of them, whatever the archive says.
    if data.count(_CENTRAL) > MEMBERS:
        raise RefusedArtifactError("the artifact is refused: it has too many members")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError):
        raise RefusedArtifactError("the artifact is refused: it is no zip archive") from None
    for member in archive.infolist():
        if reason := _wrong(member):
            raise RefusedArtifactError(f"the artifact is refused: it has {reason}")
    names = archive.namelist()
    if len(set(names)) < len(names):
        raise RefusedArtifactError("the artifact is refused: it has a member twice")

    def read(name: str) -> bytes:
        if name not in names:
            raise RefusedArtifactError(f"the artifact is refused: it has no {name}")
        member = archive.getinfo(name)
        if member.file_size > LARGEST_MEMBER or member.file_size > RATIO * member.compress_size:
            raise RefusedArtifactError(f"the artifact is refused: its {name} is too large")
        try:
            with archive.open(member) as file:
                found = file.read(LARGEST_MEMBER + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError):
            raise RefusedArtifactError(f"the artifact is damaged: {name}") from None
        if len(found) != member.file_size:
            raise RefusedArtifactError(f"the artifact is damaged: {name}")
        return found

    return read


def _wrong(member: zipfile.ZipInfo) -> str:
    """Say what a member is that an artifact of ours has not; nothing for one that may be."""
    # What the archive says; Python's name ends at the first zero.
    name = member.orig_filename
    path = PurePosixPath(name)
    kind = stat.S_IFMT(member.external_attr >> 16)
    if path.is_absolute() or ".." in path.parts or re.search(r"[\\:\x00-\x1f\x7f]", name):
        return "a path that leads out of it"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "a link or a device"
    if member.flag_bits & _ENCRYPTED or member.compress_type not in _PACKINGS:
        return "a member that cannot be read"
    return ""
