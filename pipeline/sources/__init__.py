"""Sources: where releases and commits are had. This file only finds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pipeline.model import Revision, Supply, digest
from pipeline.sources.base import Source
from pipeline.sources.cached import HOUR, CachedVersions
from pipeline.sources.crate import CrateSource
from pipeline.sources.debian import DebianPackages, DebianTarballs
from pipeline.sources.git import GitBranch, GitTags
from pipeline.sources.maven import MavenSource
from pipeline.sources.npm import NpmSource
from pipeline.sources.tarball import TarballSource
from pipeline.sources.tree import SourceTree

_KINDS: Mapping[str, Callable[[str, Path], Source]] = {
    "maven": lambda coordinates, _: MavenSource(coordinates),
    "npm": NpmSource,
    "crate": CrateSource,
    "debian": DebianPackages,
    "debian-source": DebianTarballs,
    "git": GitBranch,
    "tags": GitTags,
    "tarball": TarballSource,
    "tree": SourceTree,
}
"""How each kind of source is made, from the coordinates and the cache; a new one is added here."""


def subject_of(revision: Revision, cache: Path) -> str:
    """Return what a commit says it does, and who says it; nothing of a release."""
    supply = revision.supply
    if supply is None or supply.kind != "git":
        return ""
    return GitBranch(supply.coordinates, cache).subject(revision.locator)


def commit_in(supply: Supply, tag: str, cache: Path) -> str:
    """Return the hash of the newest commit of a branch that a tag of its repository holds.

    Raises UserError if there is none.
    """
    return GitBranch(supply.coordinates, cache).newest_in(tag)


def source_for(supply: Supply, cache: Path, max_age: float = HOUR) -> Source:
    """Return the source that serves a supply.

    Its list of versions is remembered in ``cache`` and asked for again after ``max_age``
    seconds.
    """
    # A repository of this machine is asked each time: that costs nobody anything.
    if Path(supply.coordinates.partition("#")[0]).is_dir():
        max_age = 0.0
    name = digest([supply.kind, supply.coordinates])[:16]
    return CachedVersions(
        _KINDS[supply.kind](supply.coordinates, cache),
        cache / "versions" / f"{supply.kind}-{name}.json",
        max_age=max_age,
    )
