"""Source trees of this machine as revisions: a commit, or the folder as it stands."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.errors import UserError
from pipeline.execute.discover import SHORT, commit_revision
from pipeline.model import Revision, Supply
from pipeline.sources.base.git import knows_commit
from pipeline.sources.tree import SourceTree, commit_named, is_changed, is_repository
from pipeline.targets import find_target

_SHORT_STATE = 8
"""Digits of what a folder holds that tell its states apart in tables."""


def revision_of_tree(
    target: str, folder: Path, commit: str, cache: Path, results: Path
) -> Revision:
    """Return a commit of a source tree; if none is named, the tree as it stands.

    That is a commit, too, where nothing that git tracks was changed since. ``results`` is where
    nightshift writes; if that is in the tree it is no part of it. Raises UserError for a target
    that is not compiled, a commit that is not there, and a folder that cannot be read.
    """
    if all(supply.prebuilt for supply in find_target(target).supplies):
        raise UserError(f"{target} is not built from a source tree")
    if commit and not is_repository(folder):
        raise UserError(f"{folder} is no git repository, so that it has no commit {commit}")
    if commit or (is_repository(folder) and not is_changed(folder)):
        revision = commit_revision(target, 0, commit_named(folder, commit or "HEAD"))
        return revision.model_copy(update={"supply": _supply("git", str(folder))})
    written = results.resolve()
    inside = written.is_relative_to(folder) and written != folder
    supply = _supply("tree", f"{folder}#{written.relative_to(folder)}" if inside else str(folder))
    (state,) = SourceTree(supply.coordinates, cache).versions()
    return Revision(
        target=target,
        version=f"{_name_of(folder)}-{state[:_SHORT_STATE]}",
        order=(0,),
        major="",
        locator=state,
        supply=supply,
    )


def _supply(kind: str, coordinates: str) -> Supply:
    return Supply(name=kind, kind=kind, coordinates=coordinates, prebuilt=False, commits=True)


def _name_of(folder: Path) -> str:
    """Return what a source tree is called in tables: its commit, if it has one, or the folder."""
    if is_repository(folder) and knows_commit(folder, "HEAD"):
        return f"{commit_named(folder, 'HEAD')[:SHORT]}-dirty"
    return re.sub(r"[^\w.]+", "-", folder.name) or "tree"
