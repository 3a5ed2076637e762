"""A web site as a source: a page with links to archives, one for each version.

Projects and vendors publish releases like this: source tarballs, and binary ones.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import requests

from pipeline.sources.base import Fetched
from pipeline.sources.base.http import DamagedError, Site
from pipeline.text.errors import UserError

_LINK = re.compile(rb"""href=["']?([^"'\s>]+)""", re.IGNORECASE)
_VERSION = r"\d+(?:\.\d+)+"
_PLACE = "{version}"


class TarballSource:
    """The releases that a web site links to.

    ``coordinates`` are two addresses with a space between: the page whose links name the versions,
    and the archive of a version, with ``{version}`` as placeholder. A link names a version if it
    matches the first part of the archive's path that has the placeholder.
    """

    def __init__(
        self,
        coordinates: str,
        cache: Path,
        *,
        session: requests.Session | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        del cache  # fetch gets the cache for archives; nothing else is cached.
        self._index, _, self._archive = coordinates.partition(" ")
        self.name = urlsplit(self._index).hostname or self._index
        parts = PurePosixPath(urlsplit(self._archive).path).parts
        self._named = next(part for part in parts if _PLACE in part)
        self._site = Site(self.name, session, sleep)

    def versions(self) -> tuple[str, ...]:
        """Return every version that the page links to, ordered by number."""
        return self._site.ask(
            self._index, "list of versions", lambda page: linked_versions(page, self._named)
        )

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Download the archive of a version; the site must publish its checksum."""
        if not re.fullmatch(_VERSION, version):
            raise UserError(
                f"{version!r} is not a version; `nightshift discover` lists the versions"
            )
        address = self._archive.replace(_PLACE, version)
        path = cache / f"{self.name}-{PurePosixPath(urlsplit(address).path).name}"
        return Fetched(path=path, locator=address, sha256=self._site.download(address, path))


def linked_versions(page: bytes, named: str) -> tuple[str, ...]:
    """Return the versions in the links of a page, ordered by number.

    Raises DamagedError if there is none.
    """
    before, _, after = named.partition(_PLACE)
    form = re.compile(f"{re.escape(before)}({_VERSION}){re.escape(after)}")
    links = (urlsplit(link.decode("ascii", "replace")).path for link in _LINK.findall(page))
    matches = (form.fullmatch(PurePosixPath(path).name) for path in links)
    found = {match[1] for match in matches if match}
    if not found:
        raise DamagedError("its download page lists no versions")
    return tuple(sorted(found, key=lambda version: [int(part) for part in version.split(".")]))
