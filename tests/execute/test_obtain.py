"""Discover and build, with a source and a target that need no network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pipeline.errors import UserError
from pipeline.execute.build import build_home, find_build, obtain_build
from pipeline.execute.discover import discover, discovered
from pipeline.execute.run import build_all, step_seconds
from pipeline.execute.watch import Silent
from pipeline.model import Build, Provenance, Revision
from tests.execute.samples import cell, known, revision


@dataclass
class Target:
    """Installs whatever it is given; fails at first when told to."""

    fail: bool = False
    installed: list[Path] = field(default_factory=list)
    coordinates: str = "somewhere"

    def revisions(self, versions: Sequence[str]) -> tuple[Revision, ...]:
        return tuple(each for each in known()["postgres"] if each.version in versions)

    def install(self, revision: Revision, archive: object, home: Path) -> Build:
        home.mkdir(parents=True)
        self.installed.append(home)
        if self.fail:
            raise UserError("the archive is damaged")
        return Build(
            target=revision.target,
            version=revision.version,
            options="official",
            hash="h" + revision.version,
            provenance=Provenance(source="x", locator="", sha256="", options="official"),
            home=home,
        )


class Source:
    def versions(self) -> Sequence[str]:
        return ("17.10", "17.11")

    def fetch(self, locator: str, folder: Path) -> str:
        return locator


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Target:
    made = Target()
    for module in ("build", "discover"):
        monkeypatch.setattr(f"pipeline.execute.{module}.find_target", lambda name: made)
        monkeypatch.setattr(f"pipeline.execute.{module}.source_for", lambda *_, **__: Source())
    return made


def test_a_build_is_had_once_and_found_again(target: Target, tmp_path: Path) -> None:
    first = obtain_build(tmp_path, revision("17.11"), "official")
    assert obtain_build(tmp_path, revision("17.11"), "official") == first
    assert find_build(tmp_path, revision("17.11"), "official") == first
    assert first.home == build_home(tmp_path, revision("17.11"), "official")
    assert target.installed == [first.home]


def test_a_control_shares_the_build_of_what_it_copies(target: Target, tmp_path: Path) -> None:
    obtain_build(tmp_path, revision("17.11"), "official")
    assert find_build(tmp_path, revision("17.11", copy=2), "official") is not None


def test_an_install_that_was_cut_short_is_done_again(target: Target, tmp_path: Path) -> None:
    target.fail = True
    with pytest.raises(UserError, match="damaged"):
        obtain_build(tmp_path, revision("17.11"), "official")
    assert find_build(tmp_path, revision("17.11"), "official") is None
    target.fail = False
    assert obtain_build(tmp_path, revision("17.11"), "official").hash == "h17.11"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"target": "postgres", "of": "another version"}'])
def test_a_description_that_does_not_fit_is_no_build(
    target: Target, tmp_path: Path, text: str
) -> None:
    home = obtain_build(tmp_path, revision("17.11"), "official").home
    (home / "build.json").write_text(text)
    assert find_build(tmp_path, revision("17.11"), "official") is None
    assert obtain_build(tmp_path, revision("17.11"), "official").home == home
    assert len(target.installed) == 2


def test_other_build_options_cannot_be_had(target: Target, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be built with the options 'o3'; only 'official'"):
        obtain_build(tmp_path, revision("17.11"), "o3")
    assert not target.installed


def test_builds_are_told_to_the_watcher_once(target: Target, tmp_path: Path) -> None:
    told: list[str] = []

    class Told(Silent):
        def begin(self, stage: str, total: float) -> None:
            told.append(f"begin {stage} {total:g}")

        def advance(self, amount: float) -> None:
            told.append(f"advance {amount:g}")

        def end(self) -> None:
            told.append("end")

    cells = [cell("17.10"), cell("17.11"), cell("17.11", copy=2)]
    builds = build_all(cells, tmp_path, Told())
    assert sorted(build.version for build in builds.values()) == ["17.10", "17.11"]
    assert told == ["begin build 2", "advance 1", "advance 1", "end"]
    told.clear()
    assert build_all(cells, tmp_path, Told()) == builds
    assert told == []
    target.fail = True
    with pytest.raises(UserError):
        build_all([cell("18.0")], tmp_path, Told())
    assert told == ["begin build 1", "end"], "a bar that is not taken away hides the error"


def test_the_seconds_of_a_cell_are_those_of_its_steps() -> None:
    one = cell()
    scale = one.workload.scale.model_copy(update={"measure": 10.0, "warmup": 2.5})
    steps = one.workload.steps * 3
    workload = one.workload.model_copy(update={"scale": scale, "steps": steps})
    assert step_seconds(one.model_copy(update={"workload": workload})) == 37.5


def test_what_was_discovered_is_remembered(target: Target, tmp_path: Path) -> None:
    found = discover(["postgres", "postgres"], tmp_path, tmp_path / "results")
    assert [each.version for each in found["postgres"]] == ["17.10", "17.11"]
    assert discovered(tmp_path / "results") == found


def test_nothing_was_discovered_yet(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no releases are known in .* run `nightshift discover`"):
        discovered(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"postgres": 3}', '{"postgres": [{"x": 1}]}'])
def test_a_damaged_memory_of_releases(tmp_path: Path, text: str) -> None:
    (tmp_path / "discovered.json").write_text(text)
    with pytest.raises(UserError, match=r"discovered\.json is damaged; run `nightshift discover`"):
        discovered(tmp_path)
