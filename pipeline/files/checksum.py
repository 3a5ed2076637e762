"""The checksum that identifies a file's content."""

from __future__ import annotations

import hashlib
from pathlib import Path


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits. Raises OSError if it is unreadable."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
