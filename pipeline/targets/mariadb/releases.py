"""Releases of MariaDB, from the version names of their sources."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.model import Revision, Supply
from pipeline.targets.base.releases import matching_versions, releases

_SPELLINGS = {
    "maven": re.compile(r"(\d+)\.(\d+)\.(\d+)"),
    "tarball": re.compile(r"(\d+)\.(\d+)\.(\d+)"),
    "archive": re.compile(r"(\d+)\.(\d+)\.(\d+)"),
    "tags": re.compile(r"mariadb-(\d+)\.(\d+)\.(\d+)"),
    "debian-source": re.compile(r"[^/]+/(?:\d+:)?(\d+)\.(\d+)\.(\d+)[-+].*"),
}
"""How each kind of source spells a release: three numbers, with Debian's additions around them."""


def revisions(supply: Supply, versions: Iterable[str]) -> tuple[Revision, ...]:
    """Return one revision for each MariaDB release, oldest first.

    The first two of the three numbers are the major, 10.11 or 11.4, which MariaDB calls a release
    series. Versions of another form are left out.
    """
    return releases("mariadb", matching_versions(_SPELLINGS[supply.kind], versions))
