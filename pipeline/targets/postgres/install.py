"""The archive of a release: a jar around one .txz."""

from __future__ import annotations

import lzma
import tarfile
import zipfile
from collections.abc import Generator
from pathlib import Path

from pipeline.targets.base.archives import CHUNK, Member, Refused, tar_members

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
        yield from tar_members(tar)
        # Both checksums are looked at where a file ends, not where its last member does.
        for stream in (plain, inner):
            while stream.read(CHUNK):
                pass


def _inner(jar: zipfile.ZipFile) -> str:
    names = [name for name in jar.namelist() if name.endswith(".txz")]
    if len(names) != 1:
        raise Refused(f"it holds {len(names)} .txz files, not one")
    return names[0]
