"""Versions as sources spell them, turned into releases."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pipeline.model import Revision

MAJOR = 2
"""Numbers of a release that name its series, as 10.11 of 10.11.5."""


class Found(NamedTuple):
    """The numbers of a release, and what the source calls it."""

    numbers: tuple[int, ...]
    locator: str


def spelt(pattern: re.Pattern[str], versions: Iterable[str]) -> list[Found]:
    """Return the versions of the form of ``pattern``, whose first three groups are the numbers."""
    matches = ((pattern.fullmatch(version), version) for version in versions)
    return [
        Found(tuple(map(int, match.groups()[:3])), version) for match, version in matches if match
    ]


def releases(target: str, found: Iterable[Found], major: int = MAJOR) -> tuple[Revision, ...]:
    """Return one revision for each release, oldest first; of several the last one counts.

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
