"""The versions of the packed binaries, turned into releases of MariaDB."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.model import Revision

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def revisions(versions: Iterable[str]) -> tuple[Revision, ...]:
    """Return one revision for each release, oldest first.

    The first two of the three numbers are the major, 10.11 or 11.4: that is what MariaDB
    calls a release series. Versions of another form are left out.
    """
    found = {
        tuple(map(int, match.groups())): spelling
        for spelling in versions
        if (match := _VERSION.fullmatch(spelling))
    }
    return tuple(
        Revision(
            target="mariadb",
            version=".".join(map(str, order)),
            order=order,
            major=".".join(map(str, order[:2])),
            locator=found[order],
        )
        for order in sorted(found)
    )
