"""Convert the version names of a source to the releases of a DBMS."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pipeline.model import Revision

MAJOR = 2
"""How many numbers of a version name its release series: two, as 10.11 of 10.11.5."""


class NumberedRelease(NamedTuple):
    """A release: its version numbers, and the name that its source has for it."""

    numbers: tuple[int, ...]
    locator: str


def matching_versions(pattern: re.Pattern[str], versions: Iterable[str]) -> list[NumberedRelease]:
    """Return the version names that match ``pattern``, with their three numbers."""
    matches = ((pattern.fullmatch(version), version) for version in versions)
    return [
        NumberedRelease(tuple(map(int, match.groups()[:3])), version)
        for match, version in matches
        if match
    ]


def releases(
    target: str, found: Iterable[NumberedRelease], major: int = MAJOR
) -> tuple[Revision, ...]:
    """Return one revision for each release, oldest first.

    If ``found`` has several names for a release, the last one is used. ``major`` is how many
    numbers of a version name its release series.
    """
    locators = dict(found)
    return tuple(
        Revision(
            target=target,
            version=".".join(map(str, numbers)),
            order=numbers,
            major=".".join(map(str, numbers[:major])),
            locator=locators[numbers],
        )
        for numbers in sorted(locators)
    )
