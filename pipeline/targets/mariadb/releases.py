"""What sources call the versions of MariaDB, turned into releases."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.model import Revision, Supply
from pipeline.targets.base.releases import releases, spelt

_SPELLINGS = {
    "maven": re.compile(r"(\d+)\.(\d+)\.(\d+)"),
    "tarball": re.compile(r"(\d+)\.(\d+)\.(\d+)"),
    "debian-source": re.compile(r"[^/]+/(?:\d+:)?(\d+)\.(\d+)\.(\d+)[-+].*"),
}
"""How the kinds of source spell a release: its three numbers, and what is Debian's around them."""


def revisions(supply: Supply, versions: Iterable[str]) -> tuple[Revision, ...]:
    """Return one revision for each release, oldest first.

    The first two of the three numbers are the major, 10.11 or 11.4: that is what MariaDB
    calls a release series. Versions of another form are left out.
    """
    return releases("mariadb", spelt(_SPELLINGS[supply.kind], versions))
