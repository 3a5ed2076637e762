"""A source that wraps a source and remembers its list of versions.

A night must not need the network when nothing is to be downloaded, and a registry should
not be asked more often than it changes.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from pipeline.errors import UserError
from pipeline.model import Frozen
from pipeline.sources.base import Fetched, Source

HOUR = 3600.0
"""Default age, in seconds, up to which a remembered list is taken for the truth."""

log = logging.getLogger(__name__)


class Remembered(Frozen):
    """A list of versions, and when it was had (seconds since the epoch)."""

    at: float
    versions: tuple[str, ...]


class CachedVersions:
    """A source whose list of versions is kept in a file.

    A list younger than ``max_age`` seconds is answered from the file. An older one is asked
    for anew, and serves with a warning when the source cannot be reached. Archives are
    fetched from the wrapped source, which has its own cache. ``clock`` gives the seconds
    since the epoch.
    """

    def __init__(
        self,
        source: Source,
        file: Path,
        *,
        max_age: float = HOUR,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Remember the versions of ``source`` in ``file``, which no other source shares."""
        self.name = source.name
        self._source = source
        self._file = file
        self._max_age = max_age
        self._clock = clock

    def versions(self) -> tuple[str, ...]:
        """Return every version, remembered or asked for."""
        remembered = self._read()
        # A list from the future was written by a wrong clock and would never grow old.
        if remembered and 0 <= self._clock() - remembered.at < self._max_age:
            return remembered.versions
        try:
            versions = self._source.versions()
        except UserError as error:
            if remembered is None:
                raise
            when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(remembered.at))
            log.warning("%s; going on with its list of %s UTC", error, when)
            return remembered.versions
        self._write(Remembered(at=self._clock(), versions=versions))
        return versions

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Return the archive of a version from the wrapped source."""
        return self._source.fetch(version, cache)

    def _read(self) -> Remembered | None:
        try:
            return Remembered.model_validate_json(self._file.read_bytes())
        except (OSError, ValidationError):
            return None

    def _write(self, remembered: Remembered) -> None:
        part = self._file.with_name(f".{self._file.name}.{os.getpid()}.part")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(remembered.model_dump(mode="json")) + "\n")
            part.replace(self._file)
        except OSError as error:
            part.unlink(missing_ok=True)
            log.warning(
                "the list of versions could not be kept in %s (%s)", self._file, error.strerror
            )
