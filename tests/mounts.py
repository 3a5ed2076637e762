"""Folders that cannot be written, also by root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a folder with everything in it read-only; skip the test where that is not permitted."""
    if os.geteuid() == 0:
        # Permissions do not bind root, a mount does.
        if _mounts("--bind", str(folder), str(folder)):
            pytest.skip("mounting is not permitted here")
        try:
            assert _mounts("-o", "remount,bind,ro", str(folder)) == 0
            yield
        finally:
            # Lazily: a process of the test may not have let go of a file yet.
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
        return
    places = [folder, *folder.rglob("*")]
    modes = {place: place.stat().st_mode for place in places}
    try:
        for place, mode in modes.items():
            place.chmod(mode & ~0o222)
        yield
    finally:
        for place, mode in modes.items():
            place.chmod(mode)


def _mounts(*arguments: str) -> int:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode
