"""Sources: where releases and commits are had. This file only finds them."""

from __future__ import annotations

from pathlib import Path

from pipeline.sources.base import Source
from pipeline.sources.cached import HOUR, CachedVersions
from pipeline.sources.maven import MavenSource


def source_for(coordinates: str, cache: Path, max_age: float = HOUR) -> Source:
    """Return the source of a target's prebuilt releases.

    Its list of versions is remembered in ``cache`` and asked for again after ``max_age``
    seconds.
    """
    return CachedVersions(
        MavenSource(coordinates),
        cache / "versions" / f"{coordinates.replace(':', '.')}.json",
        max_age=max_age,
    )
