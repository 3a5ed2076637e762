from __future__ import annotations

import pytest

from pipeline.model import Revision, Supply
from pipeline.targets.sqlite import SQLite
from pipeline.targets.sqlite.releases import CRATES

CRATE, PACKAGES, TAGS, GIT = SQLite.supplies


def versions(supply: Supply, *spellings: str) -> list[str]:
    return [revision.version for revision in SQLite().revisions(supply, spellings)]


def test_a_tag_is_a_release() -> None:
    (revision,) = SQLite().revisions(TAGS, ["version-3.46.0"])
    assert revision == Revision(
        target="sqlite",
        version="3.46.0",
        order=(3, 46, 0),
        major="3.46",
        locator="version-3.46.0",
    )


def test_tags_that_mark_no_release_are_left_out() -> None:
    assert versions(TAGS, "release", "version-3.46.0-rc1", "vesion-3.45.1", "3.46.0") == []
    assert versions(TAGS, "version-3.10.0", "version-3.9.2", "version-3.6.23.1") == [
        "3.6.23.1",
        "3.9.2",
        "3.10.0",
    ]


def test_a_source_package_is_a_release() -> None:
    found = versions(PACKAGES, "bookworm/3.40.1-2+deb12u1", "bullseye/3.34.1-3", "sid/what")
    assert found == ["3.34.1", "3.40.1"]


@pytest.mark.parametrize(
    ("crate", "release"),
    [("0.9.3", "3.24.0"), ("0.17.1", "3.30.1"), ("0.30.1", "3.46.0"), ("0.37.0", "3.51.3")],
)
def test_a_crate_carries_a_release(crate: str, release: str) -> None:
    (revision,) = SQLite().revisions(CRATE, [crate])
    assert (revision.version, revision.locator) == (release, crate)
    assert revision.major == release.rpartition(".")[0]


def test_the_newest_crate_of_a_release_counts() -> None:
    (revision,) = SQLite().revisions(CRATE, ["0.30.1", "0.29.0", "0.30.0"])
    assert revision.locator == "0.30.1"


def test_crates_are_ordered_by_number() -> None:
    assert versions(CRATE, "0.10.0", "0.9.3", "0.9.1", "0.31.0") == [
        "3.17.0",
        "3.24.0",
        "3.25.2",
        "3.48.0",
    ]


def test_crates_before_the_first_known_are_left_out() -> None:
    assert versions(CRATE, "0.0.9", "0.7.0", "1.0", "0.30.1-alpha") == []


def test_a_crate_newer_than_those_known_comes_last_under_its_own_number() -> None:
    found = SQLite().revisions(CRATE, ["0.100.0", "0.9.3", "0.99.1"])
    assert [revision.version for revision in found] == ["3.24.0", "crate-0.99.1", "crate-0.100.0"]
    assert found[-1].major == ""
    assert found[-1].locator == "0.100.0"


def test_crates_and_their_releases_grow_together() -> None:
    for known in zip(*CRATES, strict=True):
        assert list(known) == sorted(set(known))
