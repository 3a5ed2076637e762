"""Archives of releases that the configuration lists, each with its checksum.

Some projects publish neither a list of versions nor checksums that nightshift can read, and remove
old releases. A file on this machine serves too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

import requests

from pipeline.files.checksum import sha256
from pipeline.sources.base import Fetched
from pipeline.sources.base.http import Site
from pipeline.text.errors import UserError


class _ListedArchive(NamedTuple):
    """An archive, its address or path, and its SHA-256."""

    sha256: str
    address: str


class ArchiveSource:
    """The archives that the configuration lists.

    ``coordinates`` are lines of a version, the SHA-256 of its archive, and its address or path.
    """

    name = "archive"

    def __init__(
        self,
        coordinates: str,
        cache: Path,
        *,
        session: requests.Session | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        del cache  # fetch gets the cache for archives; nothing else is cached.
        listed = (line.split(" ", 2) for line in coordinates.splitlines())
        self._listed = {version: _ListedArchive(digest, at) for version, digest, at in listed}
        self._session, self._sleep = session, sleep

    def versions(self) -> tuple[str, ...]:
        """Return every listed version."""
        return tuple(self._listed)

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Return the archive of a version; download it unless it is a file or in the cache."""
        if version not in self._listed:
            raise UserError(
                f"no [[archive]] has the version {version!r}; `nightshift discover` lists them"
            )
        digest, address = self._listed[version]
        parts = urlsplit(address)
        if not parts.scheme:
            return Fetched(path=_checked(Path(address), digest), locator=address, sha256=digest)
        site = Site(parts.hostname or address, self._session, self._sleep)
        path = cache / f"archive-{digest[:16]}-{PurePosixPath(parts.path).name}"
        downloaded = site.download(address, path, digest)
        return Fetched(path=path, locator=address, sha256=downloaded)


def _checked(path: Path, expected: str) -> Path:
    """Return the path of a file. Raises UserError for another SHA-256."""
    try:
        actual = sha256(path)
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}); correct address of its [[archive]]"
        ) from error
    if actual != expected:
        raise UserError(
            f"{path} has the SHA-256 {actual}, not that of its [[archive]]; compare it with "
            "the one that its makers publish"
        )
    return path
