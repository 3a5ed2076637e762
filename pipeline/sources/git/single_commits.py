"""Single commits of a repository in the cache, without their history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipeline.files import lock
from pipeline.sources.base.git import knows_commit, run_git
from pipeline.sources.git.address import place_in_cache
from pipeline.text.errors import UserError

_EVERYTHING = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


class SingleCommits:
    """Commits of a repository, each downloaded without its ancestors if the server can do that.

    ``address`` is where they come from. ``described`` is what messages call the repository, by
    default its address.
    """

    def __init__(self, address: str, cache: Path, described: str = "") -> None:
        self.folder = place_in_cache(address, cache, ".commits.git")
        self._address = address
        self._described = described or address

    def obtain(self, commit: str, clones: Sequence[Path] = ()) -> None:
        """Download a commit, unless the cache has it.

        ``clones`` are local repositories that may have it, which are asked first. Raises UserError
        if no repository has the commit.
        """
        with self._created():
            if knows_commit(self.folder, commit):
                return
            kept = f"{commit}:refs/commits/{commit}"
            for clone in clones:
                if knows_commit(clone, commit) and self._fetched(str(clone), kept):
                    return
            if self._fetched(self._address, kept):
                return
            # Some servers send only branches and tags.
            self._fetch(self._address, *_EVERYTHING)
            if not knows_commit(self.folder, commit):
                raise UserError(f"{self._described} has no commit {commit}; it was deleted there")

    def tagged(self, tag: str) -> str:
        """Download the commit of a tag, and return its hash.

        If the repository is out of reach, the tag in the cache counts.
        """
        name = f"refs/tags/{tag}"
        with self._created():
            try:
                self._fetch(self._address, f"+{name}:{name}", alone=True)
            except UserError:
                if not knows_commit(self.folder, name):
                    raise
            return run_git(self.folder, "rev-parse", "--verify", f"{name}^{{commit}}").strip()

    @contextmanager
    def _created(self) -> Iterator[None]:
        """Lock the folder, which is created first if it does not exist."""
        with lock.held(self.folder.with_suffix(".lock")):
            if not (self.folder / "HEAD").exists():
                run_git(None, "init", "--quiet", "--bare", "--template=", "--", str(self.folder))
            yield

    def _fetched(self, address: str, kept: str) -> bool:
        try:
            self._fetch(address, kept, alone=True)
        except UserError:
            return False
        return True

    def _fetch(self, address: str, *refs: str, alone: bool = False) -> None:
        fetch = ("fetch", "--quiet", "--no-tags", "--no-auto-maintenance")
        depth = ("--depth=1",) if alone else ()
        run_git(self.folder, *fetch, *depth, "--", address, *refs, address=self._described)
