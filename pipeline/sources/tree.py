"""A local folder of source code as a source, in its present state.

For a git repository these are the tracked files. For any other folder these are all files except
compiler output.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

from pipeline.model import Frozen
from pipeline.sources.base import Fetched
from pipeline.sources.base.git import knows_commit, run_git
from pipeline.text.errors import UserError

_COMPILED = (".o", ".lo", ".la", ".a", ".so", ".gcda", ".gcno")
"""Suffixes of compiler output; make would reuse such files, although they were built with other
options."""

_HISTORIES = (".git", ".hg", ".svn", ".fslckout", "_FOSSIL_")
"""Files and folders of version control systems."""


class SourceTree:
    """A folder of source code; its only version is the hash of its content.

    ``coordinates`` are the folder, then optionally ``#`` and a path in the folder to leave out.
    """

    name = "tree"

    def __init__(self, coordinates: str, cache: Path) -> None:
        folder, _, left_out = coordinates.partition("#")
        self._folder = Path(folder)
        self._left_out = {cache.resolve()} | ({self._folder / left_out} if left_out else set())

    def versions(self) -> tuple[str, ...]:
        """Return the hash of the folder's content now. Raises UserError if it cannot be read."""
        digest = hashlib.sha256()
        for file in self._files():
            digest.update(file.identity)
        return (digest.hexdigest(),)

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Write the files of the folder to a tar file.

        Raises UserError if the content no longer has the hash ``version``: only the code that
        ``version`` names may be measured.
        """
        cache.mkdir(parents=True, exist_ok=True)
        path = cache / f"tree-{version[:16]}.{os.getpid()}.tar"
        digest = hashlib.sha256()
        try:
            with tarfile.open(path, "w") as tar:
                for file in self._files():
                    digest.update(file.identity)
                    tar.addfile(file.header, io.BytesIO(file.content))
            if digest.hexdigest() != version:
                raise UserError(f"{self._folder} changed while nightshift read it; run again")
        except UserError:
            path.unlink(missing_ok=True)
            raise
        return Fetched(path=path, locator=f"{self._folder}@{version}", sha256=version, scratch=True)

    def _files(self) -> Iterator[_File]:
        found = False
        try:
            for name in _tracked(self._folder) if is_repository(self._folder) else self._all():
                found = True
                yield _File.of(self._folder, name)
        except OSError as error:
            raise UserError(
                f"{error.filename or self._folder} cannot be read ({error.strerror}); correct "
                "this and run again"
            ) from error
        if not found:
            raise UserError(
                f"{self._folder} is empty: nothing to build; name a folder with source code"
            )

    def _all(self) -> list[str]:
        """Return the names of all files in the folder, without compiled ones."""
        names = []
        for place, folders, files in os.walk(self._folder, onerror=_refuse):
            here = Path(place)
            folders[:] = [
                each
                for each in folders
                if each not in _HISTORIES and here / each not in self._left_out
            ]
            links = [each for each in folders if (here / each).is_symlink()]
            names += [
                str((here / each).relative_to(self._folder))
                for each in (*files, *links)
                if not each.endswith(_COMPILED) and each not in _HISTORIES
            ]
        return sorted(names)


class _File(Frozen):
    """A file or link in a folder of source code."""

    name: str
    content: bytes
    link: str
    program: bool
    modified: float

    @classmethod
    def of(cls, folder: Path, name: str) -> _File:
        """Read a file or link. Raises OSError."""
        path = folder / name
        about = path.lstat()
        link = str(path.readlink()) if path.is_symlink() else ""
        return cls(
            name=name,
            content=b"" if link else path.read_bytes(),
            link=link,
            program=not link and bool(about.st_mode & 0o100),
            modified=about.st_mtime,
        )

    @property
    def identity(self) -> bytes:
        """The file's part of the hash of the folder: its name and content, but not its time."""
        content = hashlib.sha256(self.content).hexdigest()
        return repr((self.name, self.link, self.program, content)).encode()

    @property
    def header(self) -> tarfile.TarInfo:
        """The entry of the file in a tar file."""
        entry = tarfile.TarInfo(self.name)
        entry.type = tarfile.SYMTYPE if self.link else tarfile.REGTYPE
        entry.linkname, entry.size = self.link, len(self.content)
        entry.mode = 0o755 if self.program else 0o644
        entry.mtime = self.modified
        return entry


def is_repository(folder: Path) -> bool:
    """Return whether a folder is the top of a git working tree."""
    return (folder / ".git").exists()


def commit_named(folder: Path, name: str) -> str:
    """Return the hash and the time of a commit in a repository.

    ``name`` is any name that git resolves. Raises UserError for an unknown commit.
    """
    if not knows_commit(folder, name):
        raise UserError(f"{folder} has no commit {name!r}; `git log` there lists the commits")
    return run_git(folder, "log", "-1", "--format=%H %ct", "--end-of-options", name, "--").strip()


def is_changed(folder: Path) -> bool:
    """Return whether a working tree has changes that are not committed."""
    if not knows_commit(folder, "HEAD"):
        return True
    # Files that a submodule does not track do not count either.
    asked = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=untracked")
    return bool(run_git(folder, *asked).strip())


def _tracked(folder: Path) -> list[str]:
    """Return the names of the files that git tracks and that exist, in submodules too."""
    listed = run_git(folder, "ls-files", "-z", "--cached", "--recurse-submodules").split("\0")
    paths = ((name, folder / name) for name in set(filter(None, listed)))
    # A submodule that was not downloaded is an empty folder.
    return sorted(name for name, path in paths if path.is_symlink() or path.is_file())


def _refuse(error: OSError) -> None:
    raise error
