"""Programs that are written in Go, which ``tools/go-tool`` builds into nightshift's cache."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_ENVIRON = dict(os.environ)
"""The environment before any fixture changes it: workers have caches of their own."""


@cache
def find(name: str) -> Path | None:
    """Return where a program is, or None; nothing is built."""
    done = subprocess.run(
        ["bash", _ROOT / "tools/go-tool", "--find", name],
        env=_ENVIRON,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), f"tools/go-tool --find {name} failed"
    return Path(done.stdout.strip()) if done.returncode == 0 else None


def program(name: str, part: str = "") -> Path:
    """Return the path of a program; skip without it. ``part`` is what ``tools/setup`` calls it."""
    found = find(name)
    if found is None:
        pytest.skip(f"{name} is not installed; tools/setup {part or name} builds it with Go")
    return found
