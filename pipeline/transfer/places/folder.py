"""A folder of this machine, or one that is mounted here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from pipeline.errors import first_line
from pipeline.transfer.places.base import (
    CHUNK,
    ChangedError,
    Entry,
    Listing,
    PlaceError,
    counted_in,
    part,
)


class FolderPlace:
    """A folder. Links in it are passed over."""

    def __init__(self, root: Path) -> None:
        """Take a folder as a place; it need not be there yet."""
        self.name = str(root)
        self._root = root

    def look(self, folder: str = "") -> Listing:
        """Return what is in a folder; nothing for one that is not there."""
        files, folders = {}, set()
        with self._saying(), suppress(FileNotFoundError), os.scandir(self._root / folder) as found:
            for entry in found:
                name = part(self.name, entry.name)
                # What goes while we look takes nothing else along: a night renames what it wrote.
                with suppress(FileNotFoundError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.add(name)
                    elif entry.is_file(follow_symlinks=False):
                        files[name] = _entry(entry.stat(follow_symlinks=False))
                counted_in(self.name, folder, len(files) + len(folders))
        return Listing(files, frozenset(folders))

    def read(self, name: str, entry: Entry, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of a file from ``start`` on. Raises ChangedError."""
        try:
            # Neither follows a link nor waits for who is at the other end of a pipe.
            handle = os.open(self._root / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise ChangedError(self.name, f"has no {name} any more ({error.strerror})") from error
        with os.fdopen(handle, "rb") as file:
            if _entry(os.fstat(handle)) != entry:
                raise ChangedError(self.name, f"has another {name} than it listed")
            file.seek(start)
            left = entry.size - start
            while left > 0:
                with self._saying():
                    data = file.read(min(CHUNK, left))
                if not data:
                    raise ChangedError(self.name, f"has a shorter {name} than it listed")
                left -= len(data)
                yield data

    def write(self, name: str, source: Path) -> None:
        """Put a file there, whole or not at all."""
        place = self._root / name
        partial = place.with_name(f"{place.name}.partial")
        with self._saying():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, partial)
            with partial.open("rb+") as file:
                os.fsync(file.fileno())
            partial.rename(place)

    def remove(self, name: str) -> None:
        """Remove a file."""
        with self._saying():
            (self._root / name).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        """Use the place."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close nothing: nothing is held open."""

    @contextmanager
    def _saying(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise PlaceError(self.name, f"cannot be used: {first_line(error)}") from error


def _entry(state: os.stat_result) -> Entry:
    return Entry(state.st_size, str(state.st_mtime_ns))
