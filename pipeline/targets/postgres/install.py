"""The archive of a Postgres release: a jar that contains one .txz file."""

from __future__ import annotations

import lzma
import tarfile
import zipfile
from collections.abc import Generator
from pathlib import Path

from pipeline.targets.base.archives import CHUNK, ArchiveMember, Refused, tar_members

PROGRAM_FOLDERS = ("bin", "lib")
"""Folders of an installed build whose files define the build."""


def members(archive: Path) -> Generator[ArchiveMember]:
    """Yield the files of a Postgres release, from the .txz file in its jar."""
    with (
        zipfile.ZipFile(archive) as jar,
        jar.open(_inner(jar)) as inner,
        lzma.open(inner) as plain,
        tarfile.open(fileobj=plain, mode="r|") as tar,
    ):
        yield from tar_members(tar)
        # Both checksums are verified at the end of a file, which is after its last member.
        for stream in (plain, inner):
            while stream.read(CHUNK):
                pass


def _inner(jar: zipfile.ZipFile) -> str:
    names = [name for name in jar.namelist() if name.endswith(".txz")]
    if len(names) != 1:
        raise Refused(f"it holds {len(names)} .txz files, not one")
    return names[0]
