"""What sources call the versions of RocksDB, turned into releases."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.model import Revision, Supply
from pipeline.targets.base.releases import releases, spelt

_SPELLINGS = {
    # bookworm/7.8.3-2: the suite, the release, the packaging.
    "debian": re.compile(r"[^/]+/(\d+)\.(\d+)\.(\d+)[-+~].*"),
    # 0.17.1+9.9.3: the crate's own version, the release. Crates before 2022 have only that.
    "crate": re.compile(r"(?:\d+\.\d+\.\d+\+)?(\d+)\.(\d+)\.(\d+)"),
    "tags": re.compile(r"v(\d+)\.(\d+)\.(\d+)"),
}
_OLDEST = (6,)
"""Older releases are left out: their benchmark lacks options of all configurations. Among the
crates it also leaves out the first ones, whose versions tell nothing of the release."""


def revisions(supply: Supply, versions: Iterable[str]) -> tuple[Revision, ...]:
    """Return one revision for each release, oldest first.

    A release series is named by two numbers, as 9.10: behaviour changes from one to the next. Of
    several packagings of a release the last one listed counts.
    """
    found = spelt(_SPELLINGS[supply.kind], versions)
    return releases("rocksdb", (each for each in found if each.numbers >= _OLDEST))
