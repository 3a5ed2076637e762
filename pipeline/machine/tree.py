"""The files by which a kernel tells of itself and is told: /proc and /sys."""

from __future__ import annotations

import re
from pathlib import Path


class Tree:
    """The files of this machine, or those under another root, made as if they were a machine's.

    Paths are absolute, as the kernel's own documents write them: ``/proc/meminfo``.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def path(self, path: str) -> Path:
        """Return where a file of the tree is."""
        return self.root / path.lstrip("/")

    def read(self, path: str) -> str:
        """Return a file's text without the white space around it; empty if it cannot be read."""
        try:
            return self.path(path).read_text(errors="replace").strip()
        except OSError:
            return ""

    def number(self, path: str) -> int | None:
        """Return the integer that a file holds; None if it holds no such, or cannot be read."""
        text = self.read(path)
        return int(text) if re.fullmatch(r"-?\d+", text) else None

    def chosen(self, path: str) -> str:
        """Return the value in force: of ``always [madvise] never`` the one in brackets."""
        return chosen(self.read(path))

    def write(self, path: str, text: str) -> None:
        """Tell the kernel something. Raises OSError where it refuses."""
        self.path(path).write_text(text)

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that match, in order, as :meth:`read` takes them."""
        found = self.root.glob(pattern.lstrip("/"))
        return sorted(f"/{each.relative_to(self.root)}" for each in found)


def chosen(text: str) -> str:
    """Return the value in force: of ``always [madvise] never`` the one in brackets."""
    found = re.search(r"\[(.+?)\]", text)
    return found.group(1) if found else text.strip()
