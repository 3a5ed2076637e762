from __future__ import annotations

from collections.abc import Sequence

import pytest

from pipeline.model import Revision, Supply
from pipeline.targets import TARGETS, find_target
from pipeline.targets.postgres import Postgres


def revisions(versions: Sequence[str]) -> tuple[Revision, ...]:
    target = Postgres()
    return target.revisions(target.supplies[0], versions)


def one(spelling: str) -> Revision:
    (revision,) = revisions([spelling])
    return revision


def test_two_part_versions() -> None:
    assert one("17.11.0") == Revision(
        target="postgres", version="17.11", order=(17, 11), major="17", locator="17.11.0"
    )


def test_three_part_versions_before_ten() -> None:
    assert one("9.6.24") == Revision(
        target="postgres", version="9.6.24", order=(9, 6, 24), major="9.6", locator="9.6.24"
    )


@pytest.mark.parametrize(
    ("spellings", "locator"),
    [
        (["14.10.0", "14.10.1"], "14.10.1"),
        (["14.10.1", "14.10.0"], "14.10.1"),
        (["10.5.0", "10.5.0-1"], "10.5.0-1"),
        (["14.10.2", "14.10.10"], "14.10.10"),
        (["9.6.10", "9.6.10-1"], "9.6.10-1"),
    ],
)
def test_the_last_packaging_counts(spellings: list[str], locator: str) -> None:
    (revision,) = revisions(spellings)
    assert revision.locator == locator


def test_releases_are_ordered_by_number() -> None:
    found = revisions(["17.10.0", "9.6.24", "17.9.0", "10.4.0", "17.0.0"])
    assert [revision.version for revision in found] == ["9.6.24", "10.4", "17.0", "17.9", "17.10"]
    assert [revision.order for revision in found] == sorted(revision.order for revision in found)


@pytest.mark.parametrize("spelling", ["18.0.0-beta1", "18", "", "18.1", "x.y.z", "1.2.3.4"])
def test_other_spellings_are_no_releases(spelling: str) -> None:
    assert revisions([spelling]) == ()


def test_binaries_are_for_the_processor() -> None:
    assert Postgres("x86_64").supplies[0].coordinates.endswith("-linux-amd64")
    assert Postgres("aarch64").supplies[0].coordinates.endswith("-linux-arm64")


def test_a_target_is_found_by_name() -> None:
    assert find_target("postgres") is TARGETS["postgres"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("postgre", "did you mean postgres?"), ("oracle", "choose one of postgres")],
)
def test_an_unknown_target_says_what_there_is(name: str, hint: str) -> None:
    with pytest.raises(KeyError) as error:
        find_target(name)
    assert hint in str(error.value)


@pytest.mark.parametrize(
    ("kind", "spellings", "versions"),
    [
        ("tarball", ["17.10", "17.9", "9.6.24", "17", "17.0rc1"], ["9.6.24", "17.9", "17.10"]),
        (
            "tags",
            ["REL_17_2", "REL9_6_24", "REL9_5_25", "REL8_4_0", "x", "REL_10_0", "REL_17_STABLE"],
            ["9.6.24", "10.0", "17.2"],
        ),
        (
            "tags",
            ["REL_19_0", "REL_19_RC1", "REL_19_BETA1", "REL_18_4", "REL_19_BETA10", "REL_19_BETA2"],
            ["18.4", "19beta1", "19beta2", "19beta10", "19rc1", "19.0"],
        ),
        (
            "tags",
            ["REL9_6_0", "REL9_6_RC1", "REL9_6_BETA4", "REL9_6_ALPHA1", "REL9_5_BETA1"],
            ["9.6alpha1", "9.6beta4", "9.6rc1", "9.6.0"],
        ),
        (
            "debian-source",
            ["bookworm/15.14-0+deb12u1", "sid/18.1-1", "sid/19~beta1-1", "sid/19~rc2-1+b1"],
            ["15.14", "18.1", "19beta1", "19rc2"],
        ),
        ("maven", ["9.5.5", "9.6.24", "10.4.0"], ["9.6.24", "10.4"]),
    ],
)
def test_other_sources_have_other_spellings(
    kind: str, spellings: list[str], versions: list[str]
) -> None:
    supply = Supply(name=kind, kind=kind, coordinates="", prebuilt=False)
    found = Postgres().revisions(supply, spellings)
    assert [revision.version for revision in found] == versions
    assert {revision.locator for revision in found} <= set(spellings)


def test_what_comes_before_a_release_belongs_to_its_major() -> None:
    supply = Supply(name="tags", kind="tags", coordinates="", prebuilt=False)
    beta, release = Postgres().revisions(supply, ["REL_19_0", "REL_19_BETA1"])
    assert (beta.major, release.major) == ("19", "19")
    assert (19,) < beta.order < release.order < (19, 1)
    assert beta.locator == "REL_19_BETA1"
