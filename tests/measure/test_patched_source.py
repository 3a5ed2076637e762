"""The source code of a commit with a patch, or with the change of another commit undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.measure.discover import commit_revision
from pipeline.measure.patched_source import patched_source
from pipeline.model import Revision, Supply
from pipeline.sources import change_of
from pipeline.text.errors import UserError
from tests.repositories import commit, git

BEFORE, AFTER = "one\ntwo\nthree\n", "one\n2\nthree\n"


@pytest.fixture
def commits(tmp_path: Path) -> list[Revision]:
    """Three commits: a file, its change, and another file."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    for name, text in (("code", BEFORE), ("code", AFTER), ("words", "words\n")):
        (folder / name).write_text(text)
        commit(folder, name)
    supply = Supply(name="git", kind="git", coordinates=str(folder), prebuilt=False, commits=True)
    hashes = git(folder, "log", "--reverse", "--format=%H").splitlines()
    found = [commit_revision("sqlite", 0, f"{each} 1700000000") for each in hashes]
    return [each.model_copy(update={"supply": supply}) for each in found]


def test_a_patch_is_applied(commits: list[Revision], tmp_path: Path) -> None:
    change = change_of(commits[1], tmp_path / "cache")
    folder = patched_source(commits[0], "it", change, tmp_path / "cache")
    assert (folder / "code").read_text() == AFTER
    assert patched_source(commits[0], "it", change, tmp_path / "cache") == folder
    assert not list((tmp_path / "cache/downloads").glob("*.tar"))


def test_a_change_is_undone_on_top_of_later_ones(commits: list[Revision], tmp_path: Path) -> None:
    change = change_of(commits[1], tmp_path / "cache")
    folder = patched_source(commits[2], "it", change, tmp_path / "cache", reverse=True)
    assert (folder / "code").read_text() == BEFORE
    assert (folder / "words").exists()


@pytest.mark.parametrize(("place", "reverse"), [(1, False), (0, True)])
def test_what_is_done_already_does_not_apply(
    commits: list[Revision], tmp_path: Path, place: int, reverse: bool
) -> None:
    change = change_of(commits[1], tmp_path / "cache")
    with pytest.raises(UserError, match="it must fit sqlite"):
        patched_source(commits[place], "it", change, tmp_path / "cache", reverse=reverse)
    assert not list((tmp_path / "cache/fixes").glob("*/fix-*"))


def test_a_prebuilt_release_cannot_be_patched(tmp_path: Path) -> None:
    release = Revision(
        target="postgres",
        version="17.8",
        order=(17, 8),
        major="17",
        supply=Supply(name="maven", kind="maven", coordinates="a:b"),
    )
    with pytest.raises(UserError, match="is prebuilt, so it cannot be applied"):
        patched_source(release, "it", "", tmp_path)
