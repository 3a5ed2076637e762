from __future__ import annotations

from collections.abc import Sequence

import pytest

from pipeline.model import Revision
from pipeline.targets import TARGETS, find_target
from pipeline.targets.mysql import MySQL

SUPPLIES = {supply.name: supply for supply in MySQL().supplies}


def revisions(source: str, versions: Sequence[str]) -> tuple[Revision, ...]:
    return MySQL().revisions(SUPPLIES[source], versions)


def test_the_first_two_numbers_are_the_major() -> None:
    assert revisions("debian", ["sid/9.7.4-2"]) == (
        Revision(
            target="mysql",
            version="9.7.4",
            order=(9, 7, 4),
            major="9.7",
            locator="sid/9.7.4-2",
        ),
    )


def test_of_several_packagings_of_a_release_the_last_one_counts() -> None:
    (found,) = revisions("npm", ["5.6.24", "5.6.24001", "5.6.24002"])
    assert (found.version, found.locator) == ("5.6.24", "5.6.24002")
    assert found.order == (5, 6, 24)


def test_releases_are_ordered_by_number() -> None:
    found = revisions("debian", ["sid/9.10.0-1", "sid/8.4.6-1+b1", "sid/1:9.7.4-2", "sid/9.7.10~x"])
    assert [each.version for each in found] == ["8.4.6", "9.7.4", "9.7.10", "9.10.0"]


@pytest.mark.parametrize(
    ("source", "spellings", "versions"),
    [
        (
            "tags",
            ["mysql-9.7.0", "mysql-8.4.10", "mysql-8.4.9", "mysql-cluster-8.0.31", "mysql-8.0"],
            ["8.4.9", "8.4.10", "9.7.0"],
        ),
        ("debian-source", ["sid/9.7.4-2", "sid/8.0.46~rc-1", "sid/x"], ["8.0.46", "9.7.4"]),
    ],
)
def test_source_code_has_other_spellings(
    source: str, spellings: list[str], versions: list[str]
) -> None:
    found = revisions(source, spellings)
    assert [each.version for each in found] == versions
    assert not SUPPLIES[source].prebuilt


@pytest.mark.parametrize(
    ("source", "spelling"),
    [
        *(("npm", spelling) for spelling in ("5.6", "", "5.6.24-beta", "5.6.240", "v5.6.24")),
        *(("debian", spelling) for spelling in ("9.7.4-2", "sid/9.7-2", "sid/9.7.4", "sid/x-1")),
    ],
)
def test_other_spellings_are_no_releases(source: str, spelling: str) -> None:
    assert revisions(source, [spelling]) == ()


def test_a_target_is_found_by_name() -> None:
    assert find_target("mysql") is TARGETS["mysql"]
