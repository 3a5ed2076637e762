"""Discover, with sources that need no network."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.measure.discover import Offer, discover, discovered, revisions_of
from pipeline.model import Supply
from pipeline.text.errors import UserError
from tests.measure.samples import OFFER

COMMITS = Supply(name="git", kind="git", coordinates="somewhere", prebuilt=False, commits=True)


class Source:
    def __init__(self, supply: Supply, cache: Path, max_age: float) -> None:
        self.supply = supply

    def versions(self) -> Sequence[str]:
        if self.supply.commits:
            return (f"{'a' * 40} 100000", f"{'b' * 40} 200000")
        return ("17.11.0", "17.10.0")


@pytest.fixture(autouse=True)
def _sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.measure.discover.source_for", Source)


def test_what_was_discovered_is_remembered(tmp_path: Path) -> None:
    commits = Offer("postgres", COMMITS)
    found = discover([OFFER, commits, OFFER], tmp_path, tmp_path / "results")
    assert [each.version for each in found[OFFER]] == ["17.10", "17.11"]
    assert discovered(tmp_path / "results") == found


def test_nothing_is_remembered_unless_asked(tmp_path: Path) -> None:
    discover([OFFER], tmp_path, None)
    assert list(tmp_path.iterdir()) == []


def test_a_revision_knows_where_it_is_had(tmp_path: Path) -> None:
    found = discover([OFFER], tmp_path, None)[OFFER]
    assert {revision.supply for revision in found} == {OFFER.supply}


def test_commits_are_in_the_order_of_the_branch() -> None:
    found = revisions_of(Offer("postgres", COMMITS), [f"{'f' * 40} 100000", "0" * 40])
    assert [each.version for each in found] == ["f" * 12, "0" * 12]
    assert [each.order for each in found] == [(0,), (1,)]
    assert found[0].locator == "f" * 40
    assert found[0].at == datetime.fromtimestamp(100000, UTC)
    assert (found[1].at, found[1].major) == (None, "")


def test_nothing_was_discovered_yet(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r".* no list of releases yet; run `nightshift discover`"):
        discovered(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "{}", "[3]", '[{"target": "postgres"}]'])
def test_a_damaged_memory_of_releases(tmp_path: Path, text: str) -> None:
    (tmp_path / "discovered.json").write_text(text)
    with pytest.raises(UserError, match=r"discovered\.json is damaged; run `nightshift discover`"):
        discovered(tmp_path)
