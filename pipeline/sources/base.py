"""What every source owes: the versions it has, and the bytes of one of them.

What it downloads is kept beside its checksum, so that a file is taken for what it was only as
long as it is.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from pipeline.errors import UserError
from pipeline.model import Frozen

log = logging.getLogger(__name__)


class Fetched(Frozen):
    """What a source gave: a file, or a folder of files, that is on this machine and was verified.

    ``sha256`` identifies the content. ``scratch`` is true for a file that was made for the
    asking and costs less to make again than to keep.
    """

    path: Path
    locator: str
    sha256: str
    scratch: bool = False


class Source(Protocol):
    """A place that holds releases or commits of one target.

    Both methods raise :class:`pipeline.errors.UserError` when the place cannot be reached
    or what it sent is damaged.
    """

    name: str

    def versions(self) -> tuple[str, ...]:
        """Return every version that can be had, in the source's own spelling."""
        ...

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Return the archive of a version, downloaded into ``cache`` unless it is there."""
        ...


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``: what two processes want is downloaded once."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def verified(path: Path) -> str | None:
    """Return the SHA-256 of a kept file, or None where it is missing or has changed."""
    try:
        with path.open("rb") as file:
            actual = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None
    try:
        recorded = _checksum_file(path).read_text("ascii", "replace").split()[:1]
    except FileNotFoundError:
        recorded = []
    if recorded == [actual]:
        return actual
    log.warning("%s is damaged; downloading it again", path)
    return None


def keep(part: Path, path: Path, sha256: str) -> None:
    """Make the downloaded ``part``, which has this checksum and is on storage, the file ``path``.

    It is there with its checksum or not at all, also after a power failure.
    """
    _checksum_file(path).write_text(f"{sha256}  {path.name}\n")
    part.replace(path)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _checksum_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def storage_error(error: OSError, folder: Path, name: str) -> UserError:
    """Return the line for a download that could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UserError(
            f"no space left in {folder} for {name}; free some, or set paths.cache in "
            "nightshift.toml to a folder with room"
        )
    return UserError(
        f"cannot write {name} in {folder} ({error.strerror}); set paths.cache in "
        "nightshift.toml to a folder that can be written"
    )
