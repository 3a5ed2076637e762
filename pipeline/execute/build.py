"""Build: a revision becomes an installed build, once."""

from __future__ import annotations

import shutil
from pathlib import Path

from pipeline.errors import UserError
from pipeline.model import Build, Revision
from pipeline.sources import source_for
from pipeline.targets import find_target

OFFICIAL = "official"
"""The build options of a binary that its makers or packagers built."""


def build_home(cache: Path, revision: Revision, options: str) -> Path:
    """Return where a build is installed. Controls share the build of what they copy."""
    return cache / "builds" / revision.target / f"{revision.version}-{options}"


def find_build(cache: Path, revision: Revision, options: str) -> Build | None:
    """Return the build if it is installed on this machine."""
    home = build_home(cache, revision, options)
    try:
        described = Build.model_validate_json((home / "build.json").read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return described.model_copy(update={"home": home})


def obtain_build(cache: Path, revision: Revision, options: str) -> Build:
    """Return the build of a revision, fetched and installed unless it is already.

    Raises UserError when it cannot be had.
    """
    present = find_build(cache, revision, options)
    if present is not None:
        return present
    if options != OFFICIAL:
        raise UserError(
            f"{revision.target} {revision.label} cannot be built with the options {options!r}; "
            f"only {OFFICIAL!r} can be had"
        )
    home = build_home(cache, revision, options)
    if home.exists():
        shutil.rmtree(home)  # Installed without its description: an install that was cut short.
    target = find_target(revision.target)
    source = source_for(target.coordinates, cache)
    archive = source.fetch(revision.locator or revision.version, cache / "downloads")
    build = target.install(revision, archive, home)
    partial = home / "build.json.partial"
    partial.write_text(build.model_dump_json(indent=1))
    partial.rename(home / "build.json")
    return build
