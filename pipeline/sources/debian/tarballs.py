"""Debian's source packages as a source: the code as its authors released it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pipeline.sources.base import Fetched
from pipeline.sources.debian.apt import Apt
from pipeline.sources.debian.suites import Suites

_ORIGINAL = re.compile(r"\S+\.orig\.tar\.(?:gz|bz2|xz|zst|lzma)")


class DebianTarballs(Suites):
    """Versions of source packages; a version is the authors' tar file.

    Debian's changes are left out.
    """

    kind = "deb-src"
    wanted = _ORIGINAL

    def _offered(self, apt: Apt) -> Mapping[str, str]:
        offered: dict[str, str] = {}
        for name in self._names:
            for text in apt.ask("showsrc", "--only-source", name).split("\n\n"):
                fields = dict(re.findall(r"^(Package|Version): (\S+)$", text, re.MULTILINE))
                # A native Debian package has no upstream tar.
                if fields.get("Package") == name and any(map(_ORIGINAL.fullmatch, text.split())):
                    offered.setdefault(fields["Version"], name)
        return offered

    def _download(self, apt: Apt, name: str, version: str, folder: Path) -> None:
        apt.get("source", "--tar-only", "--only-source", f"{name}={version}", folder=folder)

    def _fetched(self, locator: str, folder: Path, sums: Mapping[str, str]) -> Fetched:
        ((name, sha256),) = sums.items()
        return Fetched(path=folder / name, locator=locator, sha256=sha256)
