"""Local source trees as revisions: one of their commits, or the present state of the folder."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.measure.discover import SHORT, commit_revision
from pipeline.model import Revision, Supply
from pipeline.sources.base.git import knows_commit
from pipeline.sources.tree import SourceTree, commit_named, is_changed, is_repository
from pipeline.targets import find_target
from pipeline.text.errors import UserError

_SHORT_STATE = 8
"""Digits of a folder's hash that distinguish its states in tables."""


def revision_of_tree(
    target: str, folder: Path, commit: str, cache: Path, results: Path
) -> Revision:
    """Return a commit of a source tree as a revision or, without a commit, its present state.

    The present state of a tree without changes to tracked files is its latest commit. ``results``
    is where nightshift writes; inside the tree it is ignored. Raises UserError for a missing commit
    and an unreadable folder.
    """
    if commit and not is_repository(folder):
        raise UserError(
            f"{folder} is not a git repository, so it has no commit {commit}; name a git clone"
        )
    if commit or (is_repository(folder) and not is_changed(folder)):
        revision = commit_revision(target, 0, commit_named(folder, commit or "HEAD"))
        return revision.model_copy(update={"supply": _git_supply(target, folder)})
    written = results.resolve()
    inside = written.is_relative_to(folder) and written != folder
    place = f"{folder}#{written.relative_to(folder)}" if inside else str(folder)
    supply = Supply(name="tree", kind="tree", coordinates=place, prebuilt=False, commits=True)
    (state,) = SourceTree(supply.coordinates, cache).versions()
    return Revision(
        target=target,
        version=f"{_name_of(folder)}-{state[:_SHORT_STATE]}",
        order=(0,),
        major="",
        locator=state,
        supply=supply,
    )


def _git_supply(target: str, folder: Path) -> Supply:
    """Return the supply for commits of a clone, without the submodules that no build needs."""
    kinds = {supply.kind: supply for supply in find_target(target).supplies}
    unused = kinds["git"].unused_submodules if "git" in kinds else ()
    return Supply(
        name="git",
        kind="git",
        coordinates=str(folder),
        prebuilt=False,
        commits=True,
        unused_submodules=unused,
    )


def _name_of(folder: Path) -> str:
    """Return the name of a source tree for tables: its commit, or the name of its folder."""
    if is_repository(folder) and knows_commit(folder, "HEAD"):
        return f"{commit_named(folder, 'HEAD')[:SHORT]}-dirty"
    return re.sub(r"[^\w.]+", "-", folder.name) or "tree"
