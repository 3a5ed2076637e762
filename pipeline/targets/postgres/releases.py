"""Releases of Postgres, from the version names of their sources."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pipeline.model import Build, Revision, Supply

_PACKED = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-(\d+))?")
_NUMBERS = re.compile(r"\d+(?:\.\d+)+")
_STAGE = r"(?:(?P<stage>alpha|beta|rc)(?P<number>\d+))?"
_TAG = re.compile(rf"REL_?(?P<release>\d+(?:_\d+)*?)_?{_STAGE}", re.IGNORECASE)
_REPORTED = re.compile(r"\(PostgreSQL\) (\d+)")
_DEBIAN = re.compile(rf"[^/]+/(?P<release>\d+(?:\.\d+)*)(?:~{_STAGE})?[-+~].*")
_FIRST_TWO_PART_MAJOR = 10
_OLDEST = (9, 6)
"""The first release series with a configuration."""

_STAGES = {"alpha": -3, "beta": -2, "rc": -1}
"""The stages before a release, as a part of the sort key. That of the release .0 follows them."""


class _PackagedRelease(NamedTuple):
    """A release, and the numbers of its packaging; the last packaging of a release wins."""

    revision: Revision
    packaging: tuple[int, int] = (0, 0)


def revisions(supply: Supply, versions: Iterable[str]) -> tuple[Revision, ...]:
    """Return one revision for each Postgres release, beta and release candidate, oldest first.

    Those before 9.6 have no configuration and are left out, and so are versions of another form.
    """
    readers = {
        "maven": _packed,
        "tarball": _plain,
        "archive": _plain,
        "tags": _tag,
        "debian-source": _debian,
    }
    read = readers[supply.kind]
    best: dict[tuple[int, ...], _PackagedRelease] = {}
    for spelling in versions:
        found = read(spelling)
        if found is None or found.revision.order < _OLDEST:
            continue
        order = found.revision.order
        if order not in best or found.packaging >= best[order].packaging:
            best[order] = found
    return tuple(best[order].revision for order in sorted(best))


def major_of(build: Build) -> int:
    """Return the major version of a build, as its program reports it.

    The program is asked because the name of a commit is only its hash; the program says 19devel.
    """
    reported = _REPORTED.search(build.provenance.reported_version)
    return int(reported[1] if reported is not None else build.version.split(".")[0])


def _packed(spelling: str) -> _PackagedRelease | None:
    """Parse the version of a packed release on Maven Central.

    From 10 on Postgres has two numbers, and the third is the packaging's: 14.10.1 is another
    packaging of 14.10, and 10.5.0-1 of 10.5. Before 10 all three numbers are the release's, and the
    first two are its major.
    """
    if not (found := _PACKED.fullmatch(spelling)):
        return None
    first, second, third, again = (int(number or 0) for number in found.groups())
    if first >= _FIRST_TWO_PART_MAJOR:
        return _PackagedRelease(_release((first, second), spelling), (third, again))
    return _PackagedRelease(_release((first, second, third), spelling), (0, again))


def _plain(spelling: str) -> _PackagedRelease | None:
    """Parse a plain version of Postgres, as 17.2 or 9.6.24."""
    if not _NUMBERS.fullmatch(spelling):
        return None
    return _PackagedRelease(_release(tuple(map(int, spelling.split("."))), spelling))


def _tag(spelling: str) -> _PackagedRelease | None:
    """Parse a tag of Postgres's repository, as REL_17_2, REL9_6_24 or REL_19_BETA1."""
    return _staged(_TAG.fullmatch(spelling), spelling)


def _debian(spelling: str) -> _PackagedRelease | None:
    """Parse a Debian source package, as bookworm/15.14-0+deb12u1 or sid/19~beta1-1."""
    return _staged(_DEBIAN.fullmatch(spelling), spelling)


def _staged(found: re.Match[str] | None, locator: str) -> _PackagedRelease | None:
    """Return the release that a name has, or the beta or release candidate before one."""
    if found is None:
        return None
    numbers = tuple(int(number) for number in re.split(r"[._]", found["release"]))
    stage = (found["stage"] or "").lower()
    # A release has the numbers of its series and one more; what comes before it has none more.
    parts = 1 if numbers[0] >= _FIRST_TWO_PART_MAJOR else 2
    if len(numbers) != (parts if stage else parts + 1):
        return None
    if not stage:
        return _PackagedRelease(_release(numbers, locator))
    name, number = ".".join(map(str, numbers)), int(found["number"])
    return _PackagedRelease(
        Revision(
            target="postgres",
            version=f"{name}{stage}{number}",
            order=(*numbers, _STAGES[stage], number),
            major=name,
            locator=locator,
        )
    )


def _release(order: tuple[int, ...], locator: str) -> Revision:
    return Revision(
        target="postgres",
        version=".".join(map(str, order)),
        order=order,
        major=".".join(map(str, order[:-1])),
        locator=locator,
    )
