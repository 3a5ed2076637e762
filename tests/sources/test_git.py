"""Git repositories as sources, with real git and repositories that the test makes."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipeline.sources.git import GitBranch, GitTags
from pipeline.text.errors import UserError

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Repository:
    """A repository in which every commit writes one file, a second after the one before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.second = 1_000_000_000
        folder.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        time = f"{self.second} +0000"
        return subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x", *arguments],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "GIT_AUTHOR_DATE": time, "GIT_COMMITTER_DATE": time},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    def commit(self, text: str, name: str = "file") -> str:
        self.second += 1
        (self.folder / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", text)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def files_of(path: Path) -> dict[str, str]:
    with tarfile.open(path) as tar:
        opened = {member.name: tar.extractfile(member) for member in tar if member.isfile()}
        return {name: file.read().decode() for name, file in opened.items() if file}


def test_commits_come_in_first_parent_order_with_their_times(
    repository: Repository, tmp_path: Path
) -> None:
    first = repository.commit("one")
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("two", name="other")
    repository.git("checkout", "-q", "main")
    third = repository.commit("three")
    repository.second += 1
    repository.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    merge = repository.git("rev-parse", "HEAD")
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    assert source.versions() == (
        f"{first} 1000000001",
        f"{third} 1000000003",
        f"{merge} 1000000004",
    )
    side = GitBranch(f"{repository.folder}#side", tmp_path / "cache")
    assert len(side.versions()) == 2


def test_a_commit_is_had_as_a_tar_that_its_files_identify(
    repository: Repository, tmp_path: Path
) -> None:
    commits = [repository.commit(text) for text in ("one", "two", "one")]
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    source.versions()
    fetched = [source.fetch(commit, tmp_path / "downloads") for commit in commits]
    assert files_of(fetched[1].path) == {"file": "two"}
    assert fetched[1].locator == f"{repository.folder}@{commits[1]}"
    assert fetched[1].scratch
    assert fetched[0].sha256 == fetched[2].sha256 != fetched[1].sha256


def test_where_a_tag_is_on_a_branch(repository: Repository, tmp_path: Path) -> None:
    """One on a branch of its own is where that left this one."""
    repository.commit("one")
    left = repository.commit("two")
    repository.git("switch", "-qc", "release-1")
    repository.commit("release")
    repository.git("tag", "-am", "1.0", "v1.0")
    repository.git("switch", "-q", "main")
    tagged = repository.commit("three")
    repository.git("tag", "v2.0")
    tip = repository.commit("four")
    repository.git("tag", "v2.1")
    repository.git("switch", "-q", "--orphan", "other")
    repository.commit("another history")
    repository.git("tag", "v0")
    branch = GitBranch(f"{repository.folder}#main", tmp_path / "cache")
    assert [branch.newest_in(tag) for tag in ("v1.0", "v2.0", "v2.1")] == [left, tagged, tip]
    with pytest.raises(UserError, match=r"repository has no tag v9;"):
        branch.newest_in("v9")
    with pytest.raises(UserError, match=r"^the tag v0 of .*repository is not on main;"):
        branch.newest_in("v0")


def test_what_is_new_is_asked_for(repository: Repository, tmp_path: Path) -> None:
    repository.commit("one")
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    assert len(source.versions()) == 1
    new = repository.commit("two")
    assert files_of(source.fetch(new, tmp_path).path) == {"file": "two"}
    assert len(source.versions()) == 2


def test_a_branch_that_was_rewritten_is_followed(repository: Repository, tmp_path: Path) -> None:
    repository.commit("one")
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    old = source.versions()
    repository.git("commit", "-q", "--amend", "-m", "other")
    (new,) = source.versions()
    assert (new,) != old


def test_tags(repository: Repository, tmp_path: Path) -> None:
    repository.commit("one")
    repository.git("tag", "v1")
    repository.commit("two")
    repository.git("tag", "-a", "-m", "x", "v2")
    source = GitTags(str(repository.folder), tmp_path / "cache")
    assert source.versions() == ("v1", "v2")
    assert files_of(source.fetch("v2", tmp_path).path) == {"file": "two"}
    with pytest.raises(UserError, match="has no v3; `nightshift discover` lists"):
        source.fetch("v3", tmp_path)


def test_only_a_tag_that_is_built_is_downloaded(repository: Repository, tmp_path: Path) -> None:
    """And without its history. A tag that was moved is followed, and one that is gone serves."""
    repository.commit("one")
    repository.git("tag", "v1")
    repository.commit("two")
    repository.git("tag", "v2")
    source = GitTags(str(repository.folder), tmp_path / "cache")
    assert source.versions() == ("v1", "v2")
    assert not list(tmp_path.glob("cache/git/*"))
    source.fetch("v2", tmp_path)
    (store,) = tmp_path.glob("cache/git/*.git")
    counted = ["git", "-C", str(store), "rev-list", "--all", "--count"]
    assert subprocess.run(counted, capture_output=True, text=True, check=True).stdout == "1\n"
    repository.commit("three")
    repository.git("tag", "-f", "v2")
    assert files_of(source.fetch("v2", tmp_path).path) == {"file": "three"}
    shutil.rmtree(repository.folder)
    assert files_of(source.fetch("v2", tmp_path).path) == {"file": "three"}
    with pytest.raises(UserError, match="cannot be read"):
        source.fetch("v1", tmp_path)


@pytest.mark.parametrize("name", ["--output=/x", "HEAD", "main", "../x", "", "abc"])
def test_only_a_hash_names_a_commit(repository: Repository, tmp_path: Path, name: str) -> None:
    repository.commit("one")
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    with pytest.raises(UserError, match="is not a commit"):
        source.fetch(name, tmp_path)


@pytest.mark.parametrize("address", ["{folder}/nowhere", "file://{folder}/nowhere", "--upload=x"])
def test_what_is_no_repository_is_one_line(tmp_path: Path, address: str) -> None:
    with pytest.raises(UserError, match="cannot be read") as error:
        GitBranch(address.format(folder=tmp_path), tmp_path / "cache").versions()
    assert "\n" not in str(error.value)
    assert not list(tmp_path.glob("cache/git/*.git"))


def test_an_unknown_branch_or_commit_is_one_line(repository: Repository, tmp_path: Path) -> None:
    repository.commit("one")
    with pytest.raises(UserError, match=r"has no branch nobody; choose another branch$"):
        GitBranch(f"{repository.folder}#nobody", tmp_path / "cache").versions()
    with pytest.raises(UserError, match=r"has no 0{40}; `nightshift discover` lists"):
        GitBranch(str(repository.folder), tmp_path / "cache").fetch("0" * 40, tmp_path)


def test_a_mirror_that_was_cut_short_is_made_anew(repository: Repository, tmp_path: Path) -> None:
    repository.commit("one")
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    source.versions()
    (mirror,) = tmp_path.glob("cache/git/*.git")
    (mirror / "HEAD").unlink()
    assert len(source.versions()) == 1


def test_a_repository_that_is_gone_still_serves_what_was_had(
    repository: Repository, tmp_path: Path
) -> None:
    commit = repository.commit("one")
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    source.versions()
    shutil.rmtree(repository.folder)
    assert files_of(source.fetch(commit, tmp_path).path) == {"file": "one"}
    with pytest.raises(UserError, match="cannot be read"):
        source.versions()


def test_two_at_once_make_one_mirror(repository: Repository, tmp_path: Path) -> None:
    repository.commit("one")

    def ask(_: int) -> int:
        return len(GitBranch(str(repository.folder), tmp_path / "cache").versions())

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(4))) == [1, 1, 1, 1]


def test_hooks_of_the_repository_are_not_run(repository: Repository, tmp_path: Path) -> None:
    repository.commit("one")
    hook = repository.folder / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    source.fetch(source.versions()[0], tmp_path)
    assert not (tmp_path / "ran").exists()
