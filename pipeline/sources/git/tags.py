"""The tags of a repository as versions.

Only the tags that are built are downloaded, without their history: the whole of a large project has
gigabytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.sources.base import Fetched
from pipeline.sources.base.git import run_git
from pipeline.sources.git.address import absolute
from pipeline.sources.git.export import export
from pipeline.sources.git.single_commits import SingleCommits
from pipeline.text.errors import UserError

_TAGS = "refs/tags/"


class GitTags:
    """The tags of a repository as versions.

    ``coordinates`` are an address or a folder. ``unused`` are the paths of submodules that are left
    out.
    """

    name = "git"

    def __init__(self, coordinates: str, cache: Path, unused: Sequence[str] = ()) -> None:
        self._address = absolute(coordinates)
        self._cache, self._unused = cache, unused

    def versions(self) -> tuple[str, ...]:
        """Return all tags of the repository."""
        asked = ("ls-remote", "--quiet", "--tags", "--refs", "--", self._address)
        listed = run_git(None, *asked, address=self._address)
        names = (line.partition("\t")[2] for line in listed.splitlines())
        return tuple(name.removeprefix(_TAGS) for name in names if name.startswith(_TAGS))

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Export the files of a tag, and those of its submodules, as a tar file."""
        store = SingleCommits(self._address, self._cache)
        try:
            commit = store.tagged(version)
        except UserError:
            if version in self.versions():
                raise
            raise UserError(
                f"{self._address} has no {version}; `nightshift discover` lists the revisions"
            ) from None
        return export(store.folder, self._address, commit, self._cache, self._unused, cache)

    def address(self, version: str) -> str:
        """Return the address of the repository, or its folder on this machine."""
        del version
        return self._address
