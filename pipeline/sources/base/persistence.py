"""Downloads in the cache: each one is complete with a checksum file, or absent."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.files import lock
from pipeline.files.atomic_write import sync_folder
from pipeline.files.checksum import sha256
from pipeline.text.errors import UserError

log = logging.getLogger(__name__)


def keep(part: Path, path: Path, sha256: str) -> None:
    """Move a complete download to its place in the cache, and write its checksum file."""
    _checksum_file(path).write_text(f"{sha256}  {path.name}\n")
    part.replace(path)
    sync_folder(path.parent)


def verified(path: Path) -> str | None:
    """Return the SHA-256 of a download in the cache; None if it is missing or changed."""
    try:
        actual = sha256(path)
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


def kept(path: Path, download: Callable[[], str]) -> str:
    """Return the SHA-256 of a download in the cache; call ``download`` first if needed.

    Two processes that share a cache download it once. Raises UserError for a folder that cannot be
    written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path):
            return verified(path) or download()
    except OSError as error:
        raise storage_error(error, path.parent, path.name) from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a download in the cache, so that two processes do not download it twice."""
    with lock.held(path.with_name(f".{path.name}.lock")):
        yield


def storage_error(error: OSError, folder: Path, name: str) -> UserError:
    """Return the error for a download that cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return full_error(folder, name)
    return UserError(
        f"cannot write {name} in {folder} ({error.strerror}); set paths.cache in "
        "nightshift.toml to a writable folder"
    )


def full_error(folder: Path, name: str) -> UserError:
    """Return the error for a download that does not fit on the disk."""
    return UserError(
        f"no space left in {folder} for {name}; free some space, or set paths.cache in "
        "nightshift.toml to a folder with more space"
    )


def _checksum_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
