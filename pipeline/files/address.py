"""Addresses that may be local folders, as people write them."""

from __future__ import annotations

from pathlib import Path


def folder_at(address: str) -> Path | None:
    """Return the existing folder or file that an address names; None if it names none."""
    try:
        folder = Path(address).expanduser()
        return folder if folder.exists() else None
    except (OSError, RuntimeError, ValueError):
        # Too long, of an unknown user, or with a character that no path has.
        return None
