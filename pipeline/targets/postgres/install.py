"""The archive of a release: a jar around one .txz."""

from __future__ import annotations

import lzma
import stat
import tarfile
import zipfile
from collections.abc import Generator
from functools import partial
from pathlib import Path

from pipeline.targets.base.archives import CHUNK, Kind, Member, Refused

PROGRAM_FOLDERS = ("bin", "lib")
"""The folders whose files make a build what it is."""


def members(archive: Path) -> Generator[Member]:
    """Give the members of the .txz in the jar."""
    with (
        zipfile.ZipFile(archive) as jar,
        jar.open(_inner(jar)) as inner,
        lzma.open(inner) as plain,
        tarfile.open(fileobj=plain, mode="r|") as tar,
    ):
        for member in tar:
            yield Member(
                name=member.name,
                kind=_kind(member),
                size=member.size,
                program=bool(member.mode & stat.S_IXUSR),
                link=member.linkname,
                content=partial(tar.extractfile, member),
            )
        # Both checksums are looked at where a file ends, not where its last member does.
        for stream in (plain, inner):
            while stream.read(CHUNK):
                pass


def _inner(jar: zipfile.ZipFile) -> str:
    names = [name for name in jar.namelist() if name.endswith(".txz")]
    if len(names) != 1:
        raise Refused(f"it holds {len(names)} .txz files, not one")
    return names[0]


def _kind(member: tarfile.TarInfo) -> Kind:
    if member.isdir():
        return Kind.FOLDER
    if member.issym():
        return Kind.LINK
    return Kind.FILE if member.isreg() else Kind.OTHER
