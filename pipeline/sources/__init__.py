"""Sources: where releases and commits are had. This file only finds them."""

from __future__ import annotations

from pathlib import Path

from pipeline.sources.base import Source
from pipeline.sources.cached import CachedVersions
from pipeline.sources.maven import MavenSource


def source_for(coordinates: str, cache: Path) -> Source:
    """Return the source of a target's prebuilt releases, remembering its list in ``cache``."""
    return CachedVersions(
        MavenSource(coordinates), cache / "versions" / f"{coordinates.replace(':', '.')}.json"
    )
