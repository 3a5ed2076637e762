"""Git repositories of SQLite that are made in a test: releases, and small commits on them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.measure.discover import Offer, revisions_of
from pipeline.model import BuildOptions
from pipeline.sources import source_for
from pipeline.targets.base.archives import source_members, unpacked
from pipeline.targets.sqlite import SQLite
from pipeline.text.errors import UserError

FAST = BuildOptions(name="fast_to_compile", flags="-O0 -fno-omit-frame-pointer")
"""SQLite in three seconds instead of twenty."""

FAST_BUILD = f"""
[[build]]
name = "{FAST.name}"
flags = "{FAST.flags}"
"""
"""The same in a configuration."""

CRATE = next(supply for supply in SQLite().supplies if supply.name == "crate")


def git(folder: Path, *arguments: str) -> str:
    """Run git in a repository and return what it printed."""
    identity = ("-c", "user.name=x", "-c", "user.email=x", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def edit(path: Path, before: str, after: str) -> None:
    """Write something before and after what a file holds."""
    path.write_text(before + path.read_text() + after)


def commit(folder: Path, message: str) -> None:
    """Commit all that was changed."""
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


def releases_as_commits(folder: Path, releases: Sequence[str], cache: Path) -> None:
    """Make a repository with the amalgamations of some releases; skip where none can be had."""
    folder.mkdir()
    git(folder, "init", "-q")
    try:
        source = source_for(CRATE, cache)
        known = {
            each.version: each for each in revisions_of(Offer("sqlite", CRATE), source.versions())
        }
        for release in releases:
            fetched = source.fetch(known[release].locator, cache / "downloads")
            with unpacked(fetched.path, folder.parent / release, source_members):
                pass
            for name in ("sqlite3.c", "sqlite3.h"):
                shutil.copy(folder.parent / release / "sqlite3" / name, folder / name)
            commit(folder, f"version {release}")
    except UserError as error:
        pytest.skip(f"SQLite cannot be had: {error}")
