"""Releases of SQLite, from the version names of their sources."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from pipeline.model import Revision, Supply

Numbers = tuple[int, ...]

CRATES: tuple[tuple[Numbers, Numbers], ...] = (
    ((0, 7, 1), (3, 17, 0)),
    ((0, 9, 3), (3, 24, 0)),
    ((0, 10, 0), (3, 25, 2)),
    ((0, 11, 0), (3, 26, 0)),
    ((0, 13, 0), (3, 27, 2)),
    ((0, 15, 0), (3, 28, 0)),
    ((0, 16, 0), (3, 29, 0)),
    ((0, 17, 0), (3, 30, 1)),
    ((0, 17, 2), (3, 31, 0)),
    ((0, 18, 0), (3, 31, 1)),
    ((0, 20, 0), (3, 33, 0)),
    ((0, 22, 0), (3, 35, 4)),
    ((0, 23, 0), (3, 36, 0)),
    ((0, 23, 2), (3, 37, 0)),
    ((0, 24, 0), (3, 38, 0)),
    ((0, 24, 2), (3, 38, 2)),
    ((0, 25, 0), (3, 39, 0)),
    ((0, 25, 1), (3, 39, 2)),
    ((0, 26, 0), (3, 41, 2)),
    ((0, 27, 0), (3, 44, 0)),
    ((0, 28, 0), (3, 45, 0)),
    ((0, 29, 0), (3, 46, 0)),
    ((0, 31, 0), (3, 48, 0)),
    ((0, 32, 0), (3, 49, 1)),
    ((0, 34, 0), (3, 49, 2)),
    ((0, 35, 0), (3, 50, 2)),
    ((0, 36, 0), (3, 51, 1)),
    ((0, 37, 0), (3, 51, 3)),
    ((0, 38, 0), (3, 53, 1)),
    ((0, 38, 1), (3, 53, 2)),
    ((0, 39, 0), (3, 54, 0)),
    ((0, 39, 1), (3, 54, 1)),
)
"""Pairs of a crate's version and the SQLite release in it and in all crates up to the next entry.

The version of a crate does not include the release, and to find out every crate would have to be
downloaded. Published crates never change, so this table is final.
"""

_PLAIN = re.compile(r"(\d+(?:\.\d+)+)")
_TAG = re.compile(r"version-(\d+(?:\.\d+)+)")
_PACKAGE = re.compile(r"[^/]+/(\d+(?:\.\d+)+)[-+~].*")
_CRATE = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def revisions(supply: Supply, versions: Iterable[str]) -> tuple[Revision, ...]:
    """Return one revision for each SQLite release, oldest first.

    Crates newer than :data:`CRATES` may carry any release. They come last, each under its own
    version, and the build reports the release.
    """
    forms = (_PLAIN,) if supply.kind == "archive" else (_TAG, _PACKAGE)
    found = _crates(versions) if supply.kind == "crate" else _named(versions, forms)
    by_order = {revision.order: revision for revision in found}
    return tuple(by_order[order] for order in sorted(by_order))


def _named(versions: Iterable[str], forms: Iterable[re.Pattern[str]]) -> Iterator[Revision]:
    """Yield the releases whose names have one of the forms.

    These are tags (version-3.46.0), Debian packages (bookworm/3.40.1-2), and archives (3.46.0).
    """
    for spelling in versions:
        for form in forms:
            if found := form.fullmatch(spelling):
                yield _release(_numbers(found[1]), spelling)


def _crates(versions: Iterable[str]) -> Iterator[Revision]:
    """Yield the releases that Rust crates contain, oldest first."""
    numbered = sorted((_numbers(each), each) for each in versions if _CRATE.fullmatch(each))
    first_crates = [crate for crate, _ in CRATES]
    newest, release = CRATES[-1]
    for crate, spelling in numbered:
        at = bisect_right(first_crates, crate)
        if crate > newest:
            yield Revision(
                target="sqlite",
                version=f"crate-{spelling}",
                order=(*release, *crate),
                major="",
                locator=spelling,
            )
        elif at:
            yield _release(CRATES[at - 1][1], spelling)


def _release(order: Numbers, locator: str) -> Revision:
    return Revision(
        target="sqlite",
        version=".".join(map(str, order)),
        order=order,
        major=".".join(map(str, order[:2])),
        locator=locator,
    )


def _numbers(version: str) -> Numbers:
    return tuple(int(number) for number in version.split("."))
