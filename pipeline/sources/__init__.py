"""The sources of releases and commits: Maven Central, Debian, npm, crates, web sites, git."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pipeline.model import Revision, Supply, digest
from pipeline.model.registry import AdapterRegistry
from pipeline.sources.base import Addressed, Source
from pipeline.sources.cached import HOUR, CachedVersions

Maker = Callable[..., Source]

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
        "archive": "pipeline.sources.archive:ArchiveSource",
        "tree": "pipeline.sources.tree:SourceTree",
    },
    lambda maker: maker,
)
"""The constructor of each kind of source, called with coordinates and cache; add new kinds here.

Those of git repositories also take the submodules that are left out.
"""


def subject_of(revision: Revision, cache: Path) -> str:
    """Return the first line of a commit's message and its author; empty for releases."""
    supply = revision.supply
    if supply is None or supply.kind != "git":
        return ""
    # Most commands query no repository.
    from pipeline.sources.git import GitBranch  # noqa: PLC0415

    return GitBranch(supply.coordinates, cache).subject(revision.locator)


def change_of(revision: Revision, cache: Path) -> str:
    """Return what a commit changed since its first parent, as a patch; empty for releases."""
    supply = revision.supply
    if supply is None or supply.kind != "git":
        return ""
    # Most commands query no repository.
    from pipeline.sources.git import GitBranch  # noqa: PLC0415

    return GitBranch(supply.coordinates, cache).change(revision.locator)


def commit_in(supply: Supply, tag: str, cache: Path) -> str:
    """Return the newest commit of a branch that is also an ancestor of a tag, or tagged itself.

    Raises UserError if there is none.
    """
    # Most commands query no repository.
    from pipeline.sources.git import GitBranch  # noqa: PLC0415

    return GitBranch(supply.coordinates, cache).newest_in(tag)


def address_of(supply: Supply, version: str, cache: Path) -> str:
    """Return from where a shell script downloads a version; empty if no script can.

    ``version`` may be a variable of a shell. Raises UserError if the source does not know its
    address.
    """
    source = KINDS[supply.kind](supply.coordinates, cache)
    return source.address(version) if isinstance(source, Addressed) else ""


def source_for(supply: Supply, cache: Path, max_age: float = HOUR) -> Source:
    """Return the source that a supply asks for.

    Its list of versions is cached in ``cache`` and refreshed after ``max_age`` seconds.
    """
    # A local repository is queried each time, which costs little.
    if Path(supply.coordinates.partition("#")[0]).is_dir():
        max_age = 0.0
    name = digest([supply.kind, supply.coordinates])[:16]
    left_out = (supply.unused_submodules,) if supply.unused_submodules else ()
    return CachedVersions(
        KINDS[supply.kind](supply.coordinates, cache, *left_out),
        cache / "versions" / f"{supply.kind}-{name}.json",
        max_age=max_age,
    )
