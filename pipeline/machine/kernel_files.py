"""Read and write the kernel's files in /proc and /sys."""

from __future__ import annotations

import re
from pathlib import Path


class Tree:
    """The kernel's files of this machine or, in tests, a copy of them elsewhere.

    Paths are absolute, as in the kernel's documentation: ``/proc/meminfo``.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def path(self, path: str) -> Path:
        """Return the full path of a kernel file."""
        return self.root / path.lstrip("/")

    def read(self, path: str) -> str:
        """Return the text of a kernel file; empty if it cannot be read."""
        try:
            return self.path(path).read_text(errors="replace").strip()
        except OSError:
            return ""

    def number(self, path: str) -> int | None:
        """Return the whole number in a kernel file; None if there is none."""
        text = self.read(path)
        return int(text) if re.fullmatch(r"-?\d+", text) else None

    def chosen(self, path: str) -> str:
        """Return the chosen value in a kernel file: ``madvise`` of ``always [madvise] never``."""
        return chosen(self.read(path))

    def write(self, path: str, text: str) -> None:
        """Write a value to a kernel file. Raises OSError if the kernel refuses."""
        self.path(path).write_text(text)

    def glob(self, pattern: str) -> list[str]:
        """Return the paths of all kernel files that match a pattern, sorted."""
        found = self.root.glob(pattern.lstrip("/"))
        return sorted(f"/{each.relative_to(self.root)}" for each in found)


def chosen(text: str) -> str:
    """Return which value is chosen in a text: ``madvise`` of ``always [madvise] never``."""
    found = re.search(r"\[(.+?)\]", text)
    return found.group(1) if found else text.strip()
