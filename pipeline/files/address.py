"""Addresses that may be local folders, as users write them."""

from __future__ import annotations

from pathlib import Path


def folder_at(address: str) -> Path | None:
    """Return the path of an existing local file or folder that an address names; otherwise None."""
    try:
        folder = Path(address).expanduser()
        return folder if folder.exists() else None
    except (OSError, RuntimeError, ValueError):
        # Too long, of an unknown user, or with a character that no path has.
        return None
