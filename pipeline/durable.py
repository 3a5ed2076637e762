"""Small files that are there whole or as they were, also after a crash."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_MODE = 0o644
"""Everyone may read what is written, its owner alone may write it."""


def write_durably(path: Path, text: str) -> None:
    """Replace a file's text; on the disk when this returns. Raises OSError where it cannot be."""
    descriptor, partial = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor, no path
            file.write(text)
            file.flush()
            os.fchmod(descriptor, _MODE)
            os.fsync(descriptor)
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
    _sync(path.parent)


def remove_durably(path: Path) -> None:
    """Remove a file, if it is there; gone from the disk when this returns."""
    path.unlink(missing_ok=True)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """Let what happened to the names in a folder be on the disk."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
