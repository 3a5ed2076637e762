"""Folders of source code as they stand, with real git where they are repositories."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from pipeline.sources.tree import SourceTree, commit_named, is_changed, is_repository
from pipeline.text.errors import UserError

NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "src").mkdir(parents=True)
    (folder / "src/main.c").write_text("int main(void) { return 0; }")
    (folder / "configure").write_text("#!/bin/sh")
    (folder / "configure").chmod(0o755)
    (folder / "main.c").symlink_to("src/main.c")
    return folder


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=x", "-c", "user.email=x", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, check=True)


def state(folder: Path, cache: Path) -> str:
    (version,) = SourceTree(str(folder), cache).versions()
    return version


def test_the_tar_holds_files_programs_and_links(folder: Path, tmp_path: Path) -> None:
    source = SourceTree(str(folder), tmp_path / "cache")
    (version,) = source.versions()
    fetched = source.fetch(version, tmp_path / "cache")
    assert (fetched.sha256, fetched.locator) == (version, f"{folder}@{version}")
    assert fetched.scratch
    with tarfile.open(fetched.path) as tar:
        members = {member.name: member for member in tar}
    assert members.keys() == {"configure", "main.c", "src/main.c"}
    assert members["main.c"].linkname == "src/main.c"
    assert members["configure"].mode & 0o100
    # make goes by the times.
    written = (folder / "configure").stat().st_mtime
    assert members["configure"].mtime == pytest.approx(written, abs=1e-3)


def test_the_state_is_what_is_written_and_not_when_or_where(folder: Path, tmp_path: Path) -> None:
    before = state(folder, tmp_path)
    os.utime(folder / "src/main.c", (1, 1))
    assert state(folder, tmp_path) == before
    shutil.copytree(folder, tmp_path / "copy", symlinks=True)
    assert state(tmp_path / "copy", tmp_path) == before
    for change in (
        lambda: (folder / "configure").chmod(0o644),
        lambda: (folder / "src/main.c").rename(folder / "src/other.c"),
        lambda: (folder / "src/other.c").write_text("int main(void) { return 1; }"),
    ):
        change()
        after = state(folder, tmp_path)
        assert after != before
        before = after


def test_what_a_compiler_made_and_what_is_left_out_is_no_part(folder: Path, tmp_path: Path) -> None:
    before = state(folder, tmp_path)
    for name in ("src/main.o", ".git/HEAD", ".hg/store", "cache/downloads/x", "out/results/y"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    shutil.rmtree(folder / ".git")
    source = SourceTree(f"{folder}#out/results", folder / "cache")
    assert source.versions() == (before,)


def test_a_tree_that_is_edited_meanwhile_is_refused(folder: Path, tmp_path: Path) -> None:
    source, cache = SourceTree(str(folder), tmp_path), tmp_path / "cache"
    (version,) = source.versions()
    (folder / "src/main.c").write_text("int main(void) { return 2; }")
    with pytest.raises(UserError, match="changed while nightshift read it; run again"):
        source.fetch(version, cache)
    assert list(cache.iterdir()) == []


@NEEDS_GIT
def test_of_a_repository_it_is_what_git_tracks_as_it_stands(folder: Path, tmp_path: Path) -> None:
    git(folder, "init", "-q")
    assert is_repository(folder)
    assert is_changed(folder), "there is not a commit yet"
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    assert not is_changed(folder)
    committed = state(folder, tmp_path)
    (folder / "notes").write_text("words")
    assert not is_changed(folder)
    assert state(folder, tmp_path) == committed
    (folder / "configure").unlink()
    (folder / "new.c").write_text("int x;")
    git(folder, "add", "new.c")
    assert is_changed(folder)
    source = SourceTree(str(folder), tmp_path)
    (version,) = source.versions()
    with tarfile.open(source.fetch(version, tmp_path / "cache").path) as tar:
        assert sorted(tar.getnames()) == ["main.c", "new.c", "src/main.c"]
    commit, seconds = commit_named(folder, "HEAD").split()
    assert len(commit) == 40
    assert int(seconds) > 0
    with pytest.raises(UserError, match="has no commit 'nowhere'"):
        commit_named(folder, "nowhere")


@NEEDS_GIT
def test_of_a_repository_the_submodules_are_a_part(folder: Path, tmp_path: Path) -> None:
    library = tmp_path / "lib"
    library.mkdir()
    (library / "lib.c").write_text("int lib;")
    for place in (library, folder):
        git(place, "init", "-q")
        git(place, "add", "-A")
        git(place, "commit", "-qm", "first")
    git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library))
    git(folder, "commit", "-qm", "submodule")
    assert not is_changed(folder)
    before = state(folder, tmp_path / "cache")
    fetched = SourceTree(str(folder), tmp_path / "cache").fetch(before, tmp_path / "cache")
    with tarfile.open(fetched.path) as tar:
        assert "lib/lib.c" in tar.getnames()
    (folder / "lib/untracked").write_text("")
    assert not is_changed(folder)
    (folder / "lib/lib.c").write_text("int other;")
    assert is_changed(folder)
    assert state(folder, tmp_path / "cache") != before
