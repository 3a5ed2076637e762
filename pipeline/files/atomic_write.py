"""Replace files atomically: a reader sees the old or the new content, even after a crash."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MODE = 0o644
"""Everyone may read the files, only the owner may write them."""


PARTIAL = ".partial"
"""The suffix of a file that is still being written, or whose writer died while writing."""


def write_atomically(path: Path, text: str) -> Path:
    """Replace the text of a file atomically, and return its path. Raises OSError.

    A crash of the machine may lose the file; use this for data that can be derived again.
    """
    _replace(path, text.encode(), lambda _: None)
    return path


def write_bytes_atomically(path: Path, content: Buffer) -> None:
    """Replace the bytes of a file atomically, without a sync to the disk. Raises OSError."""
    _replace(path, content, lambda _: None)


def write_durably(path: Path, text: str) -> None:
    """Replace the text of a file atomically, and sync it to the disk. Raises OSError."""
    _replace(path, text.encode(), os.fsync)
    sync_folder(path.parent)


def _replace(path: Path, content: Buffer, written: Callable[[int], None]) -> None:
    descriptor, partial = tempfile.mkstemp(PARTIAL, f".{path.name}.", path.parent)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, no path
            file.write(content)
            file.flush()
            os.fchmod(descriptor, _MODE)
            written(descriptor)
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def remove_durably(path: Path) -> None:
    """Remove a file, if it exists, and sync the removal to the disk."""
    path.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync the entries of a folder to the disk, which makes a rename in it durable."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
