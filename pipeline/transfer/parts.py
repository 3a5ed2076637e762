"""Files on their way: what came of each is kept, so that a transfer that broke off goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pipeline.bundle import BundleError, read_bundle
from pipeline.execute.watch import Watcher
from pipeline.transfer.folder import sha256
from pipeline.transfer.offers import Offered, at
from pipeline.transfer.places.base import ChangedError, Place


class Parts:
    """The folder in which files of one folder of a place arrive.

    A part has its name from what was listed: of a file that is written anew there, another begins.
    """

    def __init__(self, folder: Path, place: Place, box: str, watcher: Watcher) -> None:
        """Keep parts in ``folder``, made if it is not there."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._place, self._box, self._watcher = folder, place, box, watcher

    def path(self, offered: Offered) -> Path:
        """Return where a file arrives."""
        key = f"{offered.name}\n{offered.entry.size}\n{offered.entry.stamp}\n{offered.digest}"
        return self._folder / hashlib.sha256(key.encode()).hexdigest()[:32]

    def missing(self, offered: Offered) -> int:
        """Return how many bytes of a file are still to come."""
        return max(offered.entry.size - self._size(self.path(offered)), 0)

    def forget(self, others: Iterable[Offered]) -> None:
        """Remove what belongs to none of these files."""
        kept = {self.path(offered).name for offered in others}
        for path in self._folder.iterdir():
            if path.name not in kept:
                path.unlink()

    def drop(self, taken: Iterable[Offered]) -> None:
        """Remove the parts of files that were taken."""
        for offered in taken:
            self.path(offered).unlink(missing_ok=True)

    def fetch(self, offered: Offered, place: Path) -> str:
        """Bring a file to ``place``; return its checksum.

        Raises ChangedError for one that is another now, or not what its checksum says; PlaceError
        where the transfer breaks off; and BundleError for a bundle that cannot be used.
        """
        if self._size(self.path(offered)) > 0:
            # What came first may be of other bytes than what comes now: then all of it comes anew.
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
            for data in self._place.read(at(self._box, offered.name), offered.entry, begin):
                file.write(data)
                self._watcher.advance(len(data))
        digest = sha256(part)
        if offered.digest not in ("", digest):
            raise ChangedError(
                self._place.name,
                f"has a {at(self._box, offered.name)} that is not what its checksum says: it is "
                "being written now, or altered",
            )
        return digest

    @staticmethod
    def _size(path: Path) -> int:
        try:
            return path.stat().st_size
        except FileNotFoundError:
            return 0
