"""What a hub's state brought to this machine: it is not carried back as if it were found here."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from pipeline.execute.run import BUILDS_FILE, BuildState, load_builds
from pipeline.transfer.folder import SUMS, write_sums

FOLDER = "brought"
"""The folder of the results that says so: checksums by names, and the hub's builds."""


def remember(results: Path, sums: Mapping[str, str]) -> None:
    """Note what came, which is in ``results`` by now."""
    folder = results / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if BUILDS_FILE in sums:
        shutil.copyfile(results / BUILDS_FILE, folder / BUILDS_FILE)
    write_sums(folder, sums)


def brought_sums(results: Path) -> dict[str, str]:
    """Return the checksums of what came last, by names; nothing where nothing did."""
    try:
        lines = (results / FOLDER / SUMS).read_text().splitlines()
    except FileNotFoundError:
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def brought_builds(results: Path) -> list[BuildState]:
    """Return what was known of builds where the state came from."""
    return load_builds(results / FOLDER)
