"""What every source owes: the versions it has, and the bytes of one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from pipeline.model import Frozen


class Fetched(Frozen):
    """What a source gave: a file, or a folder of files, that is on this machine and was verified.

    ``sha256`` identifies the content. ``scratch`` is true for a file that was made for the
    asking and costs less to make again than to keep.
    """

    path: Path
    locator: str
    sha256: str
    scratch: bool = False


class Source(Protocol):
    """A place that holds releases or commits of one target.

    Both methods raise :class:`pipeline.errors.UserError` when the place cannot be reached
    or what it sent is damaged.
    """

    name: str

    def versions(self) -> tuple[str, ...]:
        """Return every version that can be had, in the source's own spelling."""
        ...

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Return the archive of a version, downloaded into ``cache`` unless it is there."""
        ...
