"""The versions of the packed binaries, turned into releases of Postgres."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.model import Revision

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-(\d+))?")
_FIRST_TWO_PART_MAJOR = 10


def revisions(versions: Iterable[str]) -> tuple[Revision, ...]:
    """Return one revision for each release, oldest first.

    From 10 on Postgres has two numbers and the third is the packaging's: 14.10.1 packs 14.10
    anew, as does 10.5.0-1 for 10.5. Of several packagings the last one counts. Before, all
    three numbers are the release's and the first two are its major. Versions of another
    form (a beta) are left out.
    """
    best: dict[tuple[int, ...], tuple[tuple[int, int], str]] = {}
    for spelling in versions:
        if not (found := _VERSION.fullmatch(spelling)):
            continue
        first, second, third, again = (int(number or 0) for number in found.groups())
        order: tuple[int, ...]
        if first >= _FIRST_TWO_PART_MAJOR:
            order, packaging = (first, second), (third, again)
        else:
            order, packaging = (first, second, third), (0, again)
        best[order] = max(best.get(order, ((-1, -1), "")), (packaging, spelling))
    return tuple(_revision(order, best[order][1]) for order in sorted(best))


def _revision(order: tuple[int, ...], locator: str) -> Revision:
    return Revision(
        target="postgres",
        version=".".join(map(str, order)),
        order=order,
        major=".".join(map(str, order[:-1])),
        locator=locator,
    )
