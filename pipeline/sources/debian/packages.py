"""Debian's binary packages as a source, with all packages they depend on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from pipeline.model import digest
from pipeline.sources.base import Fetched
from pipeline.sources.debian.apt import Apt
from pipeline.sources.debian.suites import Suites


class DebianPackages(Suites):
    """Versions of binary packages; a version is a folder of .deb files.

    The folder has the package and all its dependencies, the C library included, from the same
    suite. The names in the coordinates may be patterns, such as ``mysql-server-core-*``.
    """

    kind = "deb"
    wanted = re.compile(r".+\.deb")

    def _offered(self, apt: Apt) -> Mapping[str, str]:
        known = apt.ask("pkgnames").split()
        names = [
            name for pattern in self._names for name in sorted(known) if fnmatchcase(name, pattern)
        ]
        if not names:
            return {}
        offered: dict[str, str] = {}
        for line in apt.ask("madison", *dict.fromkeys(names)).splitlines():
            name, version, _ = (part.strip() for part in line.split("|"))
            offered.setdefault(version, name)
        return offered

    def _download(self, apt: Apt, name: str, version: str, folder: Path) -> None:
        apt.get("install", f"{name}={version}", folder=folder)

    def _fetched(self, locator: str, folder: Path, sums: Mapping[str, str]) -> Fetched:
        return Fetched(path=folder, locator=locator, sha256=digest(sorted(sums.items())))
