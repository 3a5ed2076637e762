from __future__ import annotations

from collections.abc import Sequence

import pytest

from pipeline.model import Revision
from pipeline.targets import TARGETS, find_target
from pipeline.targets.mariadb import MariaDB


def revisions(versions: Sequence[str]) -> tuple[Revision, ...]:
    target = MariaDB()
    return target.revisions(target.supplies[0], versions)


def test_the_first_two_numbers_are_the_major() -> None:
    assert revisions(["10.11.5"]) == (
        Revision(
            target="mariadb",
            version="10.11.5",
            order=(10, 11, 5),
            major="10.11",
            locator="10.11.5",
        ),
    )


def test_releases_are_ordered_by_number() -> None:
    found = revisions(["10.11.5", "11.4.5", "10.2.11", "10.1.23", "10.1.8"])
    versions = [revision.version for revision in found]
    assert versions == ["10.1.8", "10.1.23", "10.2.11", "10.11.5", "11.4.5"]


@pytest.mark.parametrize("spelling", ["11.4", "", "x.y.z", "10.0.13-SNAPSHOT", "1.2.3.4"])
def test_other_spellings_are_no_releases(spelling: str) -> None:
    assert revisions([spelling]) == ()


def test_a_target_is_found_by_name() -> None:
    assert find_target("mariadb") is TARGETS["mariadb"]


def test_a_source_package_has_the_release_between_an_epoch_and_debian() -> None:
    target = MariaDB()
    spellings = [
        "bullseye/1:10.5.23-0+deb11u1",
        "bookworm/1:10.11.18-0+deb12u1",
        "trixie/11.8.6-1",
        "sid/1:11.8.9+ds-4",
        "sid/1:12.2.1~rc1-1",
        "sid/1:12.2-1",
    ]
    (supply,) = [supply for supply in target.supplies if supply.kind == "debian-source"]
    found = target.revisions(supply, spellings)
    assert [revision.version for revision in found] == ["10.5.23", "10.11.18", "11.8.6", "11.8.9"]
    assert [revision.major for revision in found] == ["10.5", "10.11", "11.8", "11.8"]
    assert [revision.locator for revision in found] == spellings[:4]


def test_a_tag_has_the_release_after_the_name() -> None:
    target = MariaDB()
    (supply,) = [supply for supply in target.supplies if supply.kind == "tags"]
    tags = ["mariadb-11.4.10", "mariadb-11.4.9", "mariadb-12.0.1-preview", "mysql-5.5.30", "x"]
    found = target.revisions(supply, tags)
    assert [(each.version, each.locator) for each in found] == [
        ("11.4.9", "mariadb-11.4.9"),
        ("11.4.10", "mariadb-11.4.10"),
    ]
