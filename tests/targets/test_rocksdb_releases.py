from __future__ import annotations

import pytest

from pipeline.model import Supply
from pipeline.targets.rocksdb import RocksDB

TARGET = RocksDB()
SUPPLIES = {supply.name: supply for supply in TARGET.supplies}


def versions(supply: Supply, *spellings: str) -> list[str]:
    return [revision.version for revision in TARGET.revisions(supply, spellings)]


def test_the_first_supply_is_prebuilt() -> None:
    assert [supply.name for supply in TARGET.supplies] == ["debian", "crate", "tags", "git"]
    assert TARGET.supplies[0].prebuilt


def test_packages_of_debian() -> None:
    spelled = ("sid/9.11.2-1", "bullseye/6.11.4-3+deb11u1", "trixie/9.10.0-1+b1", "sid/x")
    assert versions(SUPPLIES["debian"], *spelled) == ["6.11.4", "9.10.0", "9.11.2"]
    first = TARGET.revisions(SUPPLIES["debian"], spelled)[0]
    assert (first.locator, first.major, first.order) == (
        "bullseye/6.11.4-3+deb11u1",
        "6.11",
        (6, 11, 4),
    )


def test_crates_name_the_release_after_their_own_version_or_are_named_by_it() -> None:
    spelled = ("0.4.0", "5.18.5", "6.11.4", "0.8.0+7.4.4", "0.8.3+7.4.4", "0.17.1+9.9.3", "1.0-rc")
    found = TARGET.revisions(SUPPLIES["crate"], spelled)
    assert [(each.version, each.locator) for each in found] == [
        ("6.11.4", "6.11.4"),
        ("7.4.4", "0.8.3+7.4.4"),
        ("9.9.3", "0.17.1+9.9.3"),
    ]


@pytest.mark.parametrize("tag", ["v9.9", "9.9.3", "rocksdb-2.0", "v9.9.3-rc1", "v5.18.3"])
def test_other_tags_are_no_releases(tag: str) -> None:
    assert versions(SUPPLIES["tags"], "v10.4.2", tag) == ["10.4.2"]
