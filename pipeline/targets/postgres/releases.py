"""Releases of Postgres, from the version names of their sources."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.model import Build, Revision, Supply

_PACKED = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-(\d+))?")
_NUMBERS = re.compile(r"\d+(?:\.\d+)+")
_TAG = re.compile(r"REL_?(\d+(?:_\d+)+)")
_REPORTED = re.compile(r"\(PostgreSQL\) (\d+)")
_DEBIAN = re.compile(r"[^/]+/(\d+(?:\.\d+)+)[-+~].*")
_FIRST_TWO_PART_MAJOR = 10

_Found = tuple[tuple[int, ...], tuple[int, int]]
"""The version numbers of a release, and those of its packaging."""


def revisions(supply: Supply, versions: Iterable[str]) -> tuple[Revision, ...]:
    """Return one revision for each Postgres release, oldest first.

    Of several packagings of a release the last one wins. Versions of another form (a beta) are left
    out.
    """
    readers = {"maven": _packed, "tarball": _plain, "tags": _tag, "debian-source": _debian}
    read = readers[supply.kind]
    best: dict[tuple[int, ...], tuple[tuple[int, int], str]] = {}
    for spelling in versions:
        if (found := read(spelling)) is not None:
            order, packaging = found
            best[order] = max(best.get(order, ((-1, -1), "")), (packaging, spelling))
    return tuple(_revision(order, best[order][1]) for order in sorted(best))


def major_of(build: Build) -> int:
    """Return the major version of a build, as its program reports it.

    The program is asked because the name of a commit is only its hash; the program says 19devel.
    """
    reported = _REPORTED.search(build.provenance.reported_version)
    return int(reported[1] if reported is not None else build.version.split(".")[0])


def _packed(spelling: str) -> _Found | None:
    """Parse the version of a packed release on Maven Central.

    From 10 on Postgres has two numbers, and the third is the packaging's: 14.10.1 is another
    packaging of 14.10, and 10.5.0-1 of 10.5. Before 10 all three numbers are the release's, and the
    first two are its major.
    """
    if not (found := _PACKED.fullmatch(spelling)):
        return None
    first, second, third, again = (int(number or 0) for number in found.groups())
    if first >= _FIRST_TWO_PART_MAJOR:
        return (first, second), (third, again)
    return (first, second, third), (0, again)


def _plain(spelling: str) -> _Found | None:
    """Parse a plain version of Postgres, as 17.2 or 9.6.24."""
    return (tuple(map(int, spelling.split("."))), (0, 0)) if _NUMBERS.fullmatch(spelling) else None


def _tag(spelling: str) -> _Found | None:
    """Parse a tag of Postgres's repository, as REL_17_2 or REL9_6_24; betas do not match."""
    found = _TAG.fullmatch(spelling)
    return (tuple(map(int, found[1].split("_"))), (0, 0)) if found else None


def _debian(spelling: str) -> _Found | None:
    """Parse the version of a Debian source package, as bookworm/15.14-0+deb12u1."""
    found = _DEBIAN.fullmatch(spelling)
    return (tuple(map(int, found[1].split("."))), (0, 0)) if found else None


def _revision(order: tuple[int, ...], locator: str) -> Revision:
    return Revision(
        target="postgres",
        version=".".join(map(str, order)),
        order=order,
        major=".".join(map(str, order[:-1])),
        locator=locator,
    )
