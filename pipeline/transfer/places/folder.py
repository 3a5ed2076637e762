"""A folder of this machine as a place for transfers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipeline.text.errors import first_line
from pipeline.transfer.places.base import (
    CHUNK,
    ChangedError,
    FileEntry,
    Listing,
    Place,
    PlaceError,
    check_file_count,
    part,
)


class FolderPlace(Place):
    """A folder of this machine, or one that is mounted; links in it are ignored."""

    def __init__(self, root: Path) -> None:
        """Use a folder as a place; it may not exist yet."""
        self.name = str(root)
        self._root = root

    def look(self, folder: str = "") -> Listing:
        """Return the content of a folder; empty if it does not exist."""
        files, folders = {}, set()
        with (
            self._place_errors(),
            suppress(FileNotFoundError),
            os.scandir(self._root / folder) as found,
        ):
            for entry in found:
                name = part(self.name, entry.name)
                # A file that disappears meanwhile must not affect others: a night renames what it
                # wrote.
                with suppress(FileNotFoundError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.add(name)
                    elif entry.is_file(follow_symlinks=False):
                        files[name] = _entry(entry.stat(follow_symlinks=False))
                check_file_count(self.name, folder, len(files) + len(folders))
        return Listing(files, frozenset(folders))

    def read(self, name: str, entry: FileEntry, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of a file from ``start`` on. Raises ChangedError if the file changed."""
        try:
            # The flags refuse links and do not block on a pipe.
            handle = os.open(self._root / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise ChangedError(self.name, f"no longer has {name} ({error.strerror})") from error
        with os.fdopen(handle, "rb") as file:
            if _entry(os.fstat(handle)) != entry:
                raise ChangedError(self.name, f"has a {name} that changed after it was listed")
            file.seek(start)
            left = entry.size - start
            while left > 0:
                with self._place_errors():
                    data = file.read(min(CHUNK, left))
                if not data:
                    raise ChangedError(
                        self.name, f"has a {name} that became shorter after it was listed"
                    )
                left -= len(data)
                yield data

    def write(self, name: str, source: Path) -> None:
        """Write a file atomically: it appears complete or not at all."""
        place = self._root / name
        partial = place.with_name(f"{place.name}.partial")
        with self._place_errors():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, partial)
            with partial.open("rb+") as file:
                os.fsync(file.fileno())
            partial.rename(place)

    def remove(self, name: str) -> None:
        """Remove a file."""
        with self._place_errors():
            (self._root / name).unlink(missing_ok=True)

    @contextmanager
    def _place_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise PlaceError(self.name, f"cannot be used: {first_line(error)}") from error


def _entry(state: os.stat_result) -> FileEntry:
    return FileEntry(state.st_size, str(state.st_mtime_ns))
