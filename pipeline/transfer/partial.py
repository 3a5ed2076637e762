"""Partial downloads, so that an interrupted transfer continues where it ended."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pipeline.files.checksum import sha256
from pipeline.measure.progress import Watcher
from pipeline.storage.bundle import BundleError, read_bundle
from pipeline.transfer.offers import Offered, path_in
from pipeline.transfer.places.base import ChangedError, Place


class Parts:
    """The folder of partial downloads from one folder of a place.

    The name of a partial download depends on the size and stamp of the file, so a file that was
    rewritten at its source is downloaded from the beginning.
    """

    def __init__(self, folder: Path, place: Place, box: str, watcher: Watcher) -> None:
        """Keep partial downloads in ``folder``, which is created if needed."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._place, self._box, self._watcher = folder, place, box, watcher

    def path(self, offered: Offered) -> Path:
        """Return the path of a file's partial download."""
        key = f"{offered.name}\n{offered.entry.size}\n{offered.entry.stamp}\n{offered.digest}"
        return self._folder / hashlib.sha256(key.encode()).hexdigest()[:32]

    def missing(self, offered: Offered) -> int:
        """Return how many bytes of a file are still missing."""
        return max(offered.entry.size - self._size(self.path(offered)), 0)

    def forget(self, others: Iterable[Offered]) -> None:
        """Delete all partial downloads, except those of ``others``."""
        kept = {self.path(offered).name for offered in others}
        for path in self._folder.iterdir():
            if path.name not in kept:
                path.unlink()

    def drop(self, taken: Iterable[Offered]) -> None:
        """Delete the partial downloads of files that are complete."""
        for offered in taken:
            self.path(offered).unlink(missing_ok=True)

    def fetch(self, offered: Offered, place: Path) -> str:
        """Download a file, or the rest of it; return its checksum.

        Raises ChangedError if the file changed, or does not match its checksum; PlaceError if the
        transfer fails; and BundleError for an unusable bundle.
        """
        if self._size(self.path(offered)) > 0:
            # The earlier bytes may be of an older file: in that case fetch all of it again.
            with suppress(ChangedError, BundleError):
                return self._fetched(offered, place)
        return self._fetched(offered, place)

    def _fetched(self, offered: Offered, place: Path) -> str:
        part = self.path(offered)
        try:
            digest = self._arrived(offered, part)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.hardlink_to(part)
            if offered.is_bundle:
                read_bundle(place)
        except (ChangedError, BundleError):
            place.unlink(missing_ok=True)
            part.unlink(missing_ok=True)
            raise
        return digest

    def _arrived(self, offered: Offered, part: Path) -> str:
        begin = min(self._size(part), offered.entry.size)
        with part.open("ab") as file:
            file.truncate(begin)
            for data in self._place.read(path_in(self._box, offered.name), offered.entry, begin):
                file.write(data)
                self._watcher.advance(len(data))
        digest = sha256(part)
        if offered.digest not in ("", digest):
            raise ChangedError(
                self._place.name,
                f"has a {path_in(self._box, offered.name)} that differs from its checksum: it "
                "is being written now, or was altered; collect again later",
            )
        return digest

    @staticmethod
    def _size(path: Path) -> int:
        try:
            return path.stat().st_size
        except FileNotFoundError:
            return 0
