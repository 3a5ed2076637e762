"""Releases of a target, from the version names of its sources."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pipeline.model import Revision

MAJOR = 2
"""The count of numbers that name a release series: 10.11 of 10.11.5."""


class NumberedRelease(NamedTuple):
    """The numbers of a release, and the source's name for it."""

    numbers: tuple[int, ...]
    locator: str


def matching_versions(pattern: re.Pattern[str], versions: Iterable[str]) -> list[NumberedRelease]:
    """Return the versions that match ``pattern``; its first three groups are the numbers."""
    matches = ((pattern.fullmatch(version), version) for version in versions)
    return [
        NumberedRelease(tuple(map(int, match.groups()[:3])), version)
        for match, version in matches
        if match
    ]


def releases(
    target: str, found: Iterable[NumberedRelease], major: int = MAJOR
) -> tuple[Revision, ...]:
    """Return one revision for each release, oldest first; the last entry of a release wins.

    ``major`` is how many of the numbers name the series.
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
