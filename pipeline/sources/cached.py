"""Cache the list of versions that a source has.

A night without downloads must not need the network, and a registry should not be queried more often
than it changes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from pipeline.files.atomic_write import write_atomically
from pipeline.model import Frozen
from pipeline.sources.base import Fetched, Source
from pipeline.text.errors import UserError

HOUR = 3600.0
"""The default age, in seconds, up to which a cached list is used."""

log = logging.getLogger(__name__)


class RememberedVersions(Frozen):
    """A cached list of versions, and when it was downloaded."""

    at: float
    versions: tuple[str, ...]


class CachedVersions:
    """A source whose list of versions is kept in a file for some time.

    A list younger than ``max_age`` seconds comes from the file. An older one is downloaded again;
    if the source is unreachable, the old list is used, with a warning. The wrapped source downloads
    archives and has its own cache for them. ``clock`` returns the seconds since the epoch.
    """

    def __init__(
        self,
        source: Source,
        file: Path,
        *,
        max_age: float = HOUR,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Keep the list of versions of ``source`` in ``file``."""
        self.name = source.name
        self._source = source
        self._file = file
        self._max_age = max_age
        self._clock = clock

    def versions(self) -> tuple[str, ...]:
        """Return every version, from the file if it is new enough."""
        remembered = self._read()
        # A list from the future comes from a wrong clock and would never expire.
        if remembered and 0 <= self._clock() - remembered.at < self._max_age:
            return remembered.versions
        try:
            versions = self._source.versions()
        except UserError as error:
            if remembered is None:
                raise
            when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(remembered.at))
            log.warning("%s; using the list of versions saved at %s UTC instead", error, when)
            return remembered.versions
        self._write(RememberedVersions(at=self._clock(), versions=versions))
        return versions

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Download a version from the wrapped source."""
        return self._source.fetch(version, cache)

    def _read(self) -> RememberedVersions | None:
        try:
            return RememberedVersions.model_validate_json(self._file.read_bytes())
        except (OSError, ValidationError):
            return None

    def _write(self, remembered: RememberedVersions) -> None:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._file, f"{remembered.model_dump_json()}\n")
        except OSError as error:
            log.warning(
                "the list of versions could not be saved in %s (%s)", self._file, error.strerror
            )
