"""What sources call the versions of MySQL, turned into releases."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.model import Revision, Supply
from pipeline.targets.base.releases import releases, spelt

_SPELLINGS = {
    # 5.6.24001 packs 5.6.24 once more.
    "npm": re.compile(r"(\d+)\.(\d+)\.(\d{1,2})(\d{3})?"),
    "debian": re.compile(r"[^/]+/(?:\d+:)?(\d+)\.(\d+)\.(\d+)[-+~](.*)"),
}
"""How the kinds of source spell a release: its three numbers, then its packaging."""


def revisions(supply: Supply, versions: Iterable[str]) -> tuple[Revision, ...]:
    """Return one revision for each release, oldest first.

    The first two of the three numbers are the major, 8.4 or 9.7: that is what MySQL calls a
    release series. Of several packagings of a release the last one counts. Versions of another
    form are left out.
    """
    return releases("mysql", spelt(_SPELLINGS[supply.kind], versions))
