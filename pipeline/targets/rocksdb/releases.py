"""Releases of RocksDB, from the version names of their sources."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.model import Revision, Supply
from pipeline.targets.base.releases import matching_versions, releases

_SPELLINGS = {
    # bookworm/7.8.3-2: the suite, the release, the packaging.
    "debian": re.compile(r"[^/]+/(\d+)\.(\d+)\.(\d+)[-+~].*"),
    # 0.17.1+9.9.3: the crate's own version, the release. Crates before 2022 have only the release.
    "crate": re.compile(r"(?:\d+\.\d+\.\d+\+)?(\d+)\.(\d+)\.(\d+)"),
    "archive": re.compile(r"(\d+)\.(\d+)\.(\d+)"),
    "tags": re.compile(r"v(\d+)\.(\d+)\.(\d+)"),
}
_OLDEST = (6,)
"""The oldest releases that are measured: db_bench of earlier ones lacks options that all
configurations use. This also leaves out the first crates, whose versions do not include the
release."""


def revisions(supply: Supply, versions: Iterable[str]) -> tuple[Revision, ...]:
    """Return one revision for each RocksDB release, oldest first.

    Two numbers name a release series, as 9.10: behaviour changes from one to the next. Of several
    packagings of a release the last one listed wins.
    """
    found = matching_versions(_SPELLINGS[supply.kind], versions)
    return releases("rocksdb", (each for each in found if each.numbers >= _OLDEST))
