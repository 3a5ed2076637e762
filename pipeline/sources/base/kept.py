"""Archives in the cache: each is there whole with its checksum beside it, or not at all."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import UserError

log = logging.getLogger(__name__)


def keep(part: Path, path: Path, sha256: str) -> None:
    """Make the file ``part``, which has this checksum and is on storage, the archive ``path``."""
    _checksum_file(path).write_text(f"{sha256}  {path.name}\n")
    part.replace(path)
    # The rename is to outlive a power failure.
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def verified(path: Path) -> str | None:
    """Return the SHA-256 of a kept archive, or None where it is missing or has changed."""
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


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the archive ``path``, so that two processes that share a cache download it once."""
    with path.with_name(f".{path.name}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def storage_error(error: OSError, folder: Path, name: str) -> UserError:
    """Return the one line for a file called ``name`` that cannot be written in ``folder``."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return full_error(folder, name)
    return UserError(
        f"cannot write {name} in {folder} ({error.strerror}); set paths.cache in "
        "nightshift.toml to a folder that can be written"
    )


def full_error(folder: Path, name: str) -> UserError:
    """Return the one line for a file called ``name`` that does not fit on the disk."""
    return UserError(
        f"no space left in {folder} for {name}; free some, or set paths.cache in "
        "nightshift.toml to a folder with room"
    )


def _checksum_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
