"""The sources of releases and commits: Maven Central, Debian, npm, crates, web sites, git."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pipeline.model import Revision, Supply, digest
from pipeline.model.registry import AdapterRegistry
from pipeline.sources.base import Source
from pipeline.sources.cached import HOUR, CachedVersions

Maker = Callable[[str, Path], Source]

KINDS: AdapterRegistry[Maker] = AdapterRegistry(
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
"""The constructor of each kind of source, called with coordinates and cache; add new kinds here."""


def subject_of(revision: Revision, cache: Path) -> str:
    """Return the first line of a commit's message and its author; empty for releases."""
    supply = revision.supply
    if supply is None or supply.kind != "git":
        return ""
    # Most commands query no repository.
    from pipeline.sources.git import GitBranch  # noqa: PLC0415

    return GitBranch(supply.coordinates, cache).subject(revision.locator)


def commit_in(supply: Supply, tag: str, cache: Path) -> str:
    """Return the newest commit of a branch that is also an ancestor of a tag, or tagged itself.

    Raises UserError if there is none.
    """
    # Most commands query no repository.
    from pipeline.sources.git import GitBranch  # noqa: PLC0415

    return GitBranch(supply.coordinates, cache).newest_in(tag)


def source_for(supply: Supply, cache: Path, max_age: float = HOUR) -> Source:
    """Return the source that a supply asks for.

    Its list of versions is cached in ``cache`` and refreshed after ``max_age`` seconds.
    """
    # A local repository is queried each time, which costs little.
    if Path(supply.coordinates.partition("#")[0]).is_dir():
        max_age = 0.0
    name = digest([supply.kind, supply.coordinates])[:16]
    return CachedVersions(
        KINDS[supply.kind](supply.coordinates, cache),
        cache / "versions" / f"{supply.kind}-{name}.json",
        max_age=max_age,
    )
