"""Releases of MySQL, from the version names of their sources."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.model import Revision, Supply
from pipeline.targets.base.releases import matching_versions, releases

_SPELLINGS = {
    # 5.6.24001 is another packaging of 5.6.24.
    "npm": re.compile(r"(\d+)\.(\d+)\.(\d{1,2})(\d{3})?"),
    "debian": re.compile(r"[^/]+/(?:\d+:)?(\d+)\.(\d+)\.(\d+)[-+~](.*)"),
    "debian-source": re.compile(r"[^/]+/(?:\d+:)?(\d+)\.(\d+)\.(\d+)[-+~].*"),
    "archive": re.compile(r"(\d+)\.(\d+)\.(\d+)"),
    "tags": re.compile(r"mysql-(\d+)\.(\d+)\.(\d+)"),
}
"""How each kind of source spells a release: three numbers, then a number of the packaging."""


def revisions(supply: Supply, versions: Iterable[str]) -> tuple[Revision, ...]:
    """Return one revision for each MySQL release, oldest first.

    The first two of the three numbers are the major, 8.4 or 9.7, which MySQL calls a release
    series. Of several packagings of a release the last one wins. Versions of another form are left
    out.
    """
    return releases("mysql", matching_versions(_SPELLINGS[supply.kind], versions))
