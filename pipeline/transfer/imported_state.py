"""Remember which files came from the hub, so that they are not sent back to it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from pipeline.measure.run import BUILDS_FILE, BuildState, load_builds
from pipeline.transfer.folder import SUMS, write_sums

FOLDER = "brought"
"""The folder in the results with the record of the hub's files: their checksums, and the states of
builds."""


def remember(results: Path, sums: Mapping[str, str]) -> None:
    """Record files that came from the hub and are in the results folder now."""
    folder = results / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if BUILDS_FILE in sums:
        shutil.copyfile(results / BUILDS_FILE, folder / BUILDS_FILE)
    write_sums(folder, sums)


def imported_checksums(results: Path) -> dict[str, str]:
    """Return the files that came from the hub, with their checksums."""
    try:
        lines = (results / FOLDER / SUMS).read_text().splitlines()
    except FileNotFoundError:
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def imported_builds(results: Path) -> list[BuildState]:
    """Return the states of builds that came from the hub."""
    return load_builds(results / FOLDER)
