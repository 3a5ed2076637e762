"""The interface of a source: the available versions, and the archive of a version."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from pipeline.model import Frozen


class Fetched(Frozen):
    """A verified download of a source: a file, or a folder of files.

    ``sha256`` identifies the content. ``scratch`` is true for a generated file that is cheaper to
    generate again than to keep.
    """

    path: Path
    locator: str
    sha256: str
    scratch: bool = False


class Source(Protocol):
    """A place that has releases or commits of one target.

    Both methods raise :class:`pipeline.text.errors.UserError` if the place is unreachable or its
    answer is damaged.
    """

    name: str

    def versions(self) -> tuple[str, ...]:
        """Return every available version, in the source's own spelling."""
        ...

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Return the archive of a version, downloaded into ``cache`` unless it is there."""
        ...
