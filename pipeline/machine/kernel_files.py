"""The files of the kernel's interfaces: /proc and /sys."""

from __future__ import annotations

import re
from pathlib import Path


class Tree:
    """The kernel files of this machine, or a copy of such files under another root.

    Paths are absolute, as in the kernel's documentation: ``/proc/meminfo``.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def path(self, path: str) -> Path:
        """Return the path of a file of the tree."""
        return self.root / path.lstrip("/")

    def read(self, path: str) -> str:
        """Return a file's text without surrounding white space; empty if it is unreadable."""
        try:
            return self.path(path).read_text(errors="replace").strip()
        except OSError:
            return ""

    def number(self, path: str) -> int | None:
        """Return the integer in a file; None if there is none or the file is unreadable."""
        text = self.read(path)
        return int(text) if re.fullmatch(r"-?\d+", text) else None

    def chosen(self, path: str) -> str:
        """Return the value in force in a file: the bracketed one of ``always [madvise] never``."""
        return chosen(self.read(path))

    def write(self, path: str, text: str) -> None:
        """Write to a file of the kernel. Raises OSError if the kernel refuses."""
        self.path(path).write_text(text)

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that match, sorted, in the form that :meth:`read` takes."""
        found = self.root.glob(pattern.lstrip("/"))
        return sorted(f"/{each.relative_to(self.root)}" for each in found)


def chosen(text: str) -> str:
    """Return the value in force: of ``always [madvise] never`` the one in brackets."""
    found = re.search(r"\[(.+?)\]", text)
    return found.group(1) if found else text.strip()
