"""Export the files of a commit and its submodules as one tar file."""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.files.address import folder_at
from pipeline.sources.base import Fetched
from pipeline.sources.base.git import run_git
from pipeline.sources.git.address import is_local
from pipeline.sources.git.single_commits import SingleCommits
from pipeline.sources.git.submodules import clones_of, submodules_of
from pipeline.text.errors import UserError


class _TreePart(NamedTuple):
    """A commit whose files belong below a path of the tree that is exported."""

    repository: Path
    commit: str
    path: str


def export(
    repository: Path, address: str, commit: str, cache: Path, unused: Sequence[str], folder: Path
) -> Fetched:
    """Write the files of a commit of a repository, and those of its submodules, to a tar file.

    ``repository`` is a local copy of the one at ``address``; its submodules are downloaded into
    ``cache``, except those at the paths ``unused``. The tar file is written into ``folder``.
    """
    tree = run_git(repository, "rev-parse", "--verify", f"{commit}^{{tree}}").strip()
    clone = folder_at(address) if is_local(address) else None
    parts = list(_parts(repository, commit, _base(address, clone), clone, cache, unused))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"git-{tree}.{os.getpid()}.tar"
    part = path.with_suffix(".part")
    try:
        _archive(repository, commit, path, address=address)
        for each in parts:
            _archive(each.repository, each.commit, part, f"--prefix={each.path}/")
            _append(part, path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        part.unlink(missing_ok=True)
    # The tree names the commits of its submodules, but not which of them were left out.
    content = [f"git tree {tree}", *(f"{each.path} {each.commit}" for each in parts)]
    identity = hashlib.sha256("\n".join(content).encode()).hexdigest()
    return Fetched(path=path, locator=f"{address}@{commit}", sha256=identity, scratch=True)


def _parts(
    repository: Path,
    commit: str,
    base: str,
    clone: Path | None,
    cache: Path,
    unused: Sequence[str],
    above: str = "",
) -> Iterator[_TreePart]:
    """Download the submodules of a commit, and theirs, and yield them."""
    for submodule in submodules_of(repository, commit, base):
        path = f"{above}{submodule.path}"
        if path in unused:
            continue
        described = f"the submodule {path} ({submodule.address})"
        store = SingleCommits(submodule.address, cache, described)
        clones = clones_of(submodule, clone) if clone else []
        store.obtain(submodule.commit, clones)
        yield _TreePart(store.folder, submodule.commit, path)
        yield from _parts(
            store.folder,
            submodule.commit,
            submodule.address,
            next(iter(clones), None),
            cache,
            unused,
            f"{path}/",
        )


def _base(address: str, clone: Path | None) -> str:
    """Return the address to which relative addresses of submodules belong.

    As in git, this is where a local clone came from, if it has an origin.
    """
    if clone is None:
        return address
    try:
        return run_git(clone, "config", "--get", "remote.origin.url").strip() or address
    except UserError:
        return address


def _archive(repository: Path, commit: str, path: Path, *options: str, address: str = "") -> None:
    made = ("archive", "--format=tar", f"--output={path}", *options, commit)
    run_git(repository, *made, address=address)


def _append(part: Path, path: Path) -> None:
    """Add the members of a tar file to another."""
    with tarfile.open(part) as added, tarfile.open(path, "a") as tar:
        for member in added:
            # git's header names its commit; a member's own long name is written anew.
            member.pax_headers = {}
            tar.addfile(member, added.extractfile(member) if member.isfile() else None)
