"""Files that are there whole or as they were, whoever reads them meanwhile and whatever dies."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

_MODE = 0o644
"""Everyone may read what is written, its owner alone may write it."""


PARTIAL = ".partial"
"""How the name of a file ends that is being written, or was when its writer died."""


def write_whole(path: Path, text: str) -> Path:
    """Replace a file's text and return its path. Raises OSError where it cannot be.

    It may be lost when the machine dies; what can be had again needs no more.
    """
    _replace(path, text, lambda _: None)
    return path


def write_durably(path: Path, text: str) -> None:
    """Replace a file's text; on the disk when this returns. Raises OSError where it cannot be."""
    _replace(path, text, os.fsync)
    _sync(path.parent)


def _replace(path: Path, text: str, written: Callable[[int], None]) -> None:
    descriptor, partial = tempfile.mkstemp(PARTIAL, f".{path.name}.", path.parent)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor, no path
            file.write(text)
            file.flush()
            os.fchmod(descriptor, _MODE)
            written(descriptor)
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


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
