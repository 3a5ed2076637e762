"""The interface of a source: which versions exist, and how to download one."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from pipeline.model import Frozen


class Fetched(Frozen):
    """A verified download: a file, or a folder of files.

    ``sha256`` identifies the content. ``scratch`` is true for a generated file that is cheaper to
    generate again than to keep.
    """

    path: Path
    locator: str
    sha256: str
    scratch: bool = False


class Source(Protocol):
    """A place on the network that has releases or commits of a DBMS.

    Both methods raise :class:`pipeline.text.errors.UserError` if the place is unreachable or its
    answer is damaged.
    """

    name: str

    def versions(self) -> tuple[str, ...]:
        """Return every available version, as the source names it."""
        ...

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Download a version into ``cache``, unless it is there already."""
        ...


@runtime_checkable
class Addressed(Protocol):
    """A source that a shell script can download from, with curl or git."""

    def address(self, version: str) -> str:
        """Return the address of a version's file or, for git, that of the repository.

        ``version`` may be a variable of a shell. Raises
        :class:`pipeline.text.errors.UserError` if the source does not know its address.
        """
        ...
