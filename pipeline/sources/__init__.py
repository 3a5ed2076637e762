"""Sources: where releases and commits are had. This file only finds them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pipeline.model import Revision, Supply, digest
from pipeline.registry import Registry
from pipeline.sources.base import Source
from pipeline.sources.cached import HOUR, CachedVersions

Maker = Callable[[str, Path], Source]

KINDS: Registry[Maker] = Registry(
    {
        "maven": "pipeline.sources.maven:maven_source",
        "npm": "pipeline.sources.npm:NpmSource",
        "crate": "pipeline.sources.crate:CrateSource",
        "debian": "pipeline.sources.debian:DebianPackages",
        "debian-source": "pipeline.sources.debian:DebianTarballs",
        "git": "pipeline.sources.git:GitBranch",
        "tags": "pipeline.sources.git:GitTags",
        "tarball": "pipeline.sources.tarball:TarballSource",
        "tree": "pipeline.sources.tree:SourceTree",
    },
    lambda maker: maker,
)
"""How each kind of source is made, from the coordinates and the cache; a new one is added here."""


def subject_of(revision: Revision, cache: Path) -> str:
    """Return what a commit says it does, and who says it; nothing of a release."""
    supply = revision.supply
    if supply is None or supply.kind != "git":
        return ""
    # Most verbs ask no repository.
    from pipeline.sources.git import GitBranch  # noqa: PLC0415

    return GitBranch(supply.coordinates, cache).subject(revision.locator)


def commit_in(supply: Supply, tag: str, cache: Path) -> str:
    """Return the hash of the newest commit of a branch that a tag of its repository holds.

    Raises UserError if there is none.
    """
    # Most verbs ask no repository.
    from pipeline.sources.git import GitBranch  # noqa: PLC0415

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
        KINDS[supply.kind](supply.coordinates, cache),
        cache / "versions" / f"{supply.kind}-{name}.json",
        max_age=max_age,
    )
