"""Read the uploaded result of a pull request measurement, which is not trusted.

The artifact is a zip archive from GitHub's API, or a folder. Members are read into memory by fixed
names. Nothing is unpacked to disk, and every size is checked before reading.
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
"""Maximum size of a packed artifact in bytes."""

MEMBERS = 1000
"""Maximum number of members: the bundles of a comparison are at most 120."""

LARGEST_MEMBER = 2 << 20
"""Maximum size of an unpacked member in bytes: 500 figures of 40 blocks are 1.2 MB."""

RATIO = 100
"""Maximum compression ratio of a member; text with numbers reaches 3 to 10."""

_CENTRAL = b"PK\x01\x02"
"""The signature of each entry of an archive's directory (APPNOTE.TXT of PKWARE, 4.3.12)."""

_ENCRYPTED = 0x1
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

Read = Callable[[str], bytes]
"""Returns the content of a member of the artifact, by name. Raises RefusedArtifactError."""


class RefusedArtifactError(Exception):
    """The uploaded result of a measurement is not acceptable; the text says why."""


def read_member(place: Path, name: str) -> bytes:
    """Return a file of an uploaded result, after verifying its checksum.

    Raises RefusedArtifactError for an artifact with an unexpected structure.
    """
    try:
        place = packed_in(place)
        read = _folder(place) if place.is_dir() else _archive(_bytes(place, LARGEST))
        data, sums = read(name), read(SUMS)
    except OSError as error:
        raise RefusedArtifactError(f"the artifact cannot be read ({error.strerror})") from None
    if f"{hashlib.sha256(data).hexdigest()}  {name}".encode() not in sums.splitlines():
        raise RefusedArtifactError(
            f"the artifact is damaged: {name} differs from its checksum in {SUMS}"
        )
    return data


def packed_in(place: Path) -> Path:
    """Return the zip archive in a folder that contains nothing else; otherwise ``place`` itself."""
    found = list(place.iterdir()) if place.is_dir() else []
    return found[0] if len(found) == 1 and found[0].suffix == ".zip" else place


def _folder(place: Path) -> Read:
    """Return a reader of an unpacked result, which refuses links and unknown names."""
    return lambda name: _bytes(place / name, LARGEST_MEMBER)


def _bytes(path: Path, largest: int) -> bytes:
    # The flags refuse links and do not block on a pipe.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise RefusedArtifactError("the artifact is refused: a member is not a regular file")
        data = file.read(largest + 1)
    if len(data) > largest:
        raise RefusedArtifactError("the artifact is refused: it is too large")
    return data


def _archive(data: bytes) -> Read:
    # Count the entries before parsing any, whatever the archive claims.
    if data.count(_CENTRAL) > MEMBERS:
        raise RefusedArtifactError("the artifact is refused: it has too many members")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError):
        raise RefusedArtifactError("the artifact is refused: it is not a zip archive") from None
    for member in archive.infolist():
        if reason := _wrong(member):
            raise RefusedArtifactError(f"the artifact is refused: it has {reason}")
    names = archive.namelist()
    if len(set(names)) < len(names):
        raise RefusedArtifactError("the artifact is refused: a member appears twice")

    def read(name: str) -> bytes:
        if name not in names:
            raise RefusedArtifactError(f"the artifact is refused: it lacks the file {name}")
        member = archive.getinfo(name)
        if member.file_size > LARGEST_MEMBER or member.file_size > RATIO * member.compress_size:
            raise RefusedArtifactError(f"the artifact is refused: its {name} is too large")
        try:
            with archive.open(member) as file:
                found = file.read(LARGEST_MEMBER + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError):
            raise RefusedArtifactError(
                f"the artifact is damaged: its member {name} cannot be read"
            ) from None
        if len(found) != member.file_size:
            raise RefusedArtifactError(
                f"the artifact is damaged: its member {name} has a wrong size"
            )
        return found

    return read


def _wrong(member: zipfile.ZipInfo) -> str:
    """Return why a file of an uploaded result is not acceptable; empty if it is."""
    # The archive's own name field: Python's name ends at the first zero.
    name = member.orig_filename
    path = PurePosixPath(name)
    kind = stat.S_IFMT(member.external_attr >> 16)
    if path.is_absolute() or ".." in path.parts or re.search(r"[\\:\x00-\x1f\x7f]", name):
        return "a path outside of it"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "a link or a device"
    if member.flag_bits & _ENCRYPTED or member.compress_type not in _PACKINGS:
        return "a member that cannot be read"
    return ""
