"""The commits of a branch as versions.

A repository is mirrored in the cache once and then only updated. It may be an address or a local
folder.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipeline.files import lock
from pipeline.sources.base import Fetched
from pipeline.sources.base.git import knows_commit, run_git
from pipeline.sources.git.address import absolute, place_in_cache
from pipeline.sources.git.export import export
from pipeline.text.errors import UserError

_COMMIT = re.compile(r"[0-9a-f]{7,64}")


class GitBranch:
    """The commits of a branch as versions, along first parents.

    ``coordinates`` are an address or a folder, then ``#`` and the branch; without one, the
    repository's current branch. ``unused`` are the paths of submodules that are left out.
    """

    name = "git"

    def __init__(self, coordinates: str, cache: Path, unused: Sequence[str] = ()) -> None:
        self._address, _, self._branch = coordinates.partition("#")
        self._mirror = _Mirror(self._address, cache)
        self._cache, self._unused = cache, unused

    def versions(self) -> tuple[str, ...]:
        """Return the commits of the branch with their times, oldest first."""
        self._mirror.refresh()
        branch = f"refs/heads/{self._branch}" if self._branch else "HEAD"
        if not self._mirror.knows(branch):
            what = f"branch {self._branch}" if self._branch else "default branch"
            raise UserError(f"{self._address} has no {what}; choose another branch")
        listed = self._mirror.ask(
            "log", "--first-parent", "--reverse", "--format=%H %ct", branch, "--"
        )
        return tuple(listed.splitlines())

    def newest_in(self, tag: str) -> str:
        """Return the newest commit of the branch that is an ancestor of a tag, or tagged itself.

        This is the tagged commit, or the one where the release's branch forked. Raises UserError
        for an unknown tag, and for a tag that contains no commit of the branch.
        """
        if not self._mirror.knows(f"refs/tags/{tag}"):
            self._mirror.refresh()
            if not self._mirror.knows(f"refs/tags/{tag}"):
                raise UserError(
                    f"{self._address} has no tag {tag}; `nightshift discover` lists the revisions"
                )
        branch = f"refs/heads/{self._branch}" if self._branch else "HEAD"
        listed = self._mirror.ask("rev-list", "--first-parent", branch, f"^refs/tags/{tag}", "--")
        oldest = listed.split()[-1:]
        newest = f"{oldest[0]}^1" if oldest else branch
        if not self._mirror.knows(newest):
            raise UserError(
                f"the tag {tag} of {self._address} is not on "
                f"{self._branch or 'its default branch'}; choose another branch"
            )
        return self._mirror.ask("rev-parse", "--verify", f"{newest}^{{commit}}")

    def subject(self, commit: str) -> str:
        """Return the first line of a commit's message and its author."""
        return self._mirror.ask("log", "-1", "--format=%s (%an)", commit, "--")

    def change(self, commit: str) -> str:
        """Return what a commit changed since its first parent, as a patch."""
        if not self._mirror.knows(commit):
            self._mirror.refresh()
        return self._mirror.ask("diff", f"{commit}^1", commit, "--") + "\n"

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Export the files of a commit, and those of its submodules, as a tar file."""
        name = version.partition(" ")[0]
        if not _COMMIT.fullmatch(name):
            raise UserError(f"{name!r} is not a commit; `nightshift discover` lists the commits")
        mirror = self._mirror
        if not mirror.knows(name):
            mirror.refresh()
            if not mirror.knows(name):
                raise UserError(
                    f"{self._address} has no {name}; `nightshift discover` lists the revisions"
                )
        commit = mirror.ask("rev-parse", "--verify", f"{name}^{{commit}}")
        return export(mirror.folder, mirror.address, commit, self._cache, self._unused, cache)

    def address(self, version: str) -> str:
        """Return the address of the repository, or its folder on this machine."""
        del version
        return self._mirror.address


class _Mirror:
    """The copy of a git repository in the cache."""

    def __init__(self, address: str, cache: Path) -> None:
        self.address = absolute(address)
        self.folder = place_in_cache(self.address, cache, ".git")

    def refresh(self) -> None:
        """Bring the copy of the repository up to date, or create it."""
        with self._locked():
            if (self.folder / "HEAD").exists():
                self._run("fetch", "--quiet", "--prune", "--force", "origin", "+refs/*:refs/*")
                return
            shutil.rmtree(self.folder, ignore_errors=True)
            part = self.folder.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            clone = ("clone", "--quiet", "--mirror", "--", self.address, str(part))
            run_git(None, *clone, address=self.address)
            part.rename(self.folder)

    def ask(self, *arguments: str) -> str:
        """Run git in the copy of the repository and return its output."""
        return self._run(*arguments).strip()

    def knows(self, name: str) -> bool:
        """Return whether the copy has a commit, branch or tag."""
        return (self.folder / "HEAD").exists() and knows_commit(self.folder, name)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with lock.held(self.folder.with_suffix(".lock")):
            yield

    def _run(self, *arguments: str) -> str:
        return run_git(self.folder, *arguments, address=self.address)
