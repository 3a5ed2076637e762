"""Submodules of git repositories, with real git and repositories that the test makes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.model import Supply
from pipeline.sources import source_for
from pipeline.sources.git import GitBranch, GitTags
from pipeline.sources.git.address import submodule_address
from pipeline.text.errors import UserError
from tests.sources.test_git import Repository, files_of

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

ELSEWHERE = "https://192.0.2.1/nobody/lib.git"
"""An address in a network that is kept for documentation: nothing answers."""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "server")
    made.commit("the server", name="server.c")
    return made


@pytest.fixture
def library(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "lib")
    made.commit("one", name="lib.c")
    return made


def embed(repository: Repository, url: str, commit: str, path: str = "lib", more: str = "") -> str:
    """Commit a submodule, without git's own command, which refuses some addresses."""
    with (repository.folder / ".gitmodules").open("a") as file:
        file.write(f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n{more}')
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")
    repository.git("add", ".gitmodules")
    repository.second += 1
    repository.git("commit", "-qm", f"submodule {path}")
    return repository.git("rev-parse", "HEAD")


def head(repository: Repository) -> str:
    return repository.git("rev-parse", "HEAD")


def test_the_files_of_submodules_belong_to_a_commit(
    repository: Repository, library: Repository, tmp_path: Path
) -> None:
    """Also those of a submodule within one, and of an older commit than its newest."""
    inner = Repository(tmp_path / "inner")
    embed(library, "../inner", inner.commit("in", name="inner.c"), path="deep/inner")
    older = head(library)
    library.commit("two", name="lib.c")
    commit = embed(repository, "../lib", older, path="extra/lib")
    source = GitBranch(f"{repository.folder}#main", tmp_path / "cache")
    fetched = source.fetch(commit, tmp_path / "downloads")
    assert files_of(fetched.path) == {
        ".gitmodules": (repository.folder / ".gitmodules").read_text(),
        "server.c": "the server",
        "extra/lib/.gitmodules": (library.folder / ".gitmodules").read_text(),
        "extra/lib/lib.c": "one",
        "extra/lib/deep/inner/inner.c": "in",
    }
    assert [path.name for path in (tmp_path / "downloads").iterdir()] == [fetched.path.name]


def test_a_tag_has_its_submodules(
    repository: Repository, library: Repository, tmp_path: Path
) -> None:
    embed(repository, str(library.folder), head(library))
    repository.git("tag", "v1")
    fetched = GitTags(str(repository.folder), tmp_path / "cache").fetch("v1", tmp_path)
    assert files_of(fetched.path)["lib/lib.c"] == "one"


def test_each_commit_has_the_submodule_that_it_names(
    repository: Repository, library: Repository, tmp_path: Path
) -> None:
    first = embed(repository, str(library.folder), head(library))
    newer = library.commit("two", name="lib.c")
    repository.git("update-index", "--cacheinfo", f"160000,{newer},lib")
    repository.git("commit", "-qm", "newer lib")
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    fetched = [source.fetch(commit, tmp_path) for commit in (first, head(repository))]
    assert [files_of(each.path)["lib/lib.c"] for each in fetched] == ["one", "two"]
    assert fetched[0].sha256 != fetched[1].sha256


def test_only_the_commit_of_a_submodule_is_downloaded_and_once(
    repository: Repository, library: Repository, tmp_path: Path
) -> None:
    for text in ("two", "three"):
        library.commit(text, name="lib.c")
    middle = library.git("rev-parse", "HEAD~1")
    commit = embed(repository, str(library.folder), middle)
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    source.fetch(commit, tmp_path)
    (store,) = tmp_path.glob("cache/git/*.commits.git")
    counted = ["git", "-C", str(store), "rev-list", "--all", "--count"]
    assert subprocess.run(counted, capture_output=True, text=True, check=True).stdout == "1\n"
    shutil.rmtree(library.folder)
    assert files_of(source.fetch(commit, tmp_path).path)["lib/lib.c"] == "two"


def test_a_server_that_sends_only_branches_sends_all(
    repository: Repository,
    library: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the first version of git's protocol, a commit cannot be asked for."""
    for number, (key, value) in enumerate([("protocol.version", "0")]):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    older = head(library)
    library.commit("two", name="lib.c")
    commit = embed(repository, str(library.folder), older)
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    assert files_of(source.fetch(commit, tmp_path).path)["lib/lib.c"] == "one"


@pytest.mark.parametrize("place", ["lib", ".git/modules/lib"])
def test_a_clone_with_its_submodules_needs_no_network(
    repository: Repository, library: Repository, tmp_path: Path, place: str
) -> None:
    commit = embed(repository, ELSEWHERE, head(library))
    bare = ["--bare"] if place.startswith(".git") else []
    repository.git("clone", "-q", *bare, str(library.folder), place)
    shutil.rmtree(library.folder)
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    assert files_of(source.fetch(commit, tmp_path).path)["lib/lib.c"] == "one"


def test_a_relative_address_belongs_to_where_a_clone_came_from(
    repository: Repository, library: Repository, tmp_path: Path
) -> None:
    commit = embed(repository, "../lib", head(library))
    clone = tmp_path / "elsewhere/clone"
    repository.git("clone", "-q", str(repository.folder), str(clone))
    source = GitBranch(str(clone), tmp_path / "cache")
    assert files_of(source.fetch(commit, tmp_path).path)["lib/lib.c"] == "one"


def test_what_a_target_does_not_compile_is_not_downloaded(
    repository: Repository, library: Repository, tmp_path: Path
) -> None:
    embed(repository, ELSEWHERE, "1" * 40, path="storage/other")
    commit = embed(repository, str(library.folder), head(library))
    supply = Supply(
        name="git",
        kind="git",
        coordinates=str(repository.folder),
        unused_submodules=("storage/other",),
    )
    fetched = source_for(supply, tmp_path / "cache").fetch(commit, tmp_path)
    assert set(files_of(fetched.path)) == {".gitmodules", "server.c", "lib/lib.c"}


def test_what_a_new_clone_leaves_empty_stays_empty(repository: Repository, tmp_path: Path) -> None:
    """A submodule that git shall not update, and a link without an entry in .gitmodules."""
    embed(repository, ELSEWHERE, "1" * 40, more="\tupdate = none\n")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{'2' * 40},stray")
    repository.git("commit", "-qm", "stray")
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    fetched = source.fetch(head(repository), tmp_path)
    assert set(files_of(fetched.path)) == {".gitmodules", "server.c"}


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% {ran}",
        "ext::touch {ran}",
        "fd::17",
        "--upload-pack=touch {ran}",
        "ssh://-oProxyCommand=touch {ran}/x",
        "-oProxyCommand=touch {ran}:x",
        "!touch {ran}",
        "",
        "lib",
        "https://",
        "../" * 40 + "lib",
    ],
)
def test_an_address_that_could_run_something_is_refused(
    repository: Repository, tmp_path: Path, url: str
) -> None:
    ran = tmp_path / "ran"
    commit = embed(repository, f'"{url.format(ran=ran)}"', "1" * 40)
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    with pytest.raises(UserError, match="an address that nightshift does not use") as error:
        source.fetch(commit, tmp_path)
    assert "\n" not in str(error.value)
    assert not ran.exists()
    assert not list(tmp_path.glob("*.tar"))


def test_git_itself_uses_no_transport_that_runs_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if the settings of the user allow it."""
    for number, (key, value) in enumerate(
        [("protocol.ext.allow", "always"), ("protocol.allow", "always")]
    ):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    ran = tmp_path / "ran"
    for source in (GitBranch, GitTags):
        with pytest.raises(UserError, match="transport 'ext' not allowed"):
            source(f"ext::touch {ran}", tmp_path / "cache").versions()
    assert not ran.exists()


def test_a_missing_commit_or_repository_is_one_line(
    repository: Repository, library: Repository, tmp_path: Path
) -> None:
    gone = embed(repository, str(library.folder), "1" * 40)
    source = GitBranch(str(repository.folder), tmp_path / "cache")
    with pytest.raises(UserError, match=r"^the submodule lib \(.*/lib\) has no commit 1{40}"):
        source.fetch(gone, tmp_path)
    shutil.rmtree(library.folder)
    with pytest.raises(UserError, match=r"^the submodule lib \(.*/lib\) cannot be read") as error:
        source.fetch(gone, tmp_path)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.glob("*.tar"))


HOST = "https://example.org/project/server.git"


@pytest.mark.parametrize(
    ("url", "base", "address"),
    [
        ("https://example.org/lib.git", HOST, "https://example.org/lib.git"),
        ("git@example.org:x/lib.git", HOST, "git@example.org:x/lib.git"),
        ("ssh://git@example.org/lib", HOST, "ssh://git@example.org/lib"),
        ("../lib.git", HOST, "https://example.org/project/lib.git"),
        ("../../other/lib/", f"{HOST}/", "https://example.org/other/lib"),
        ("./lib", HOST, f"{HOST}/lib"),
        ("../lib", "git@example.org:project/server", "git@example.org:project/lib"),
        ("../../lib", "git@example.org:project/server", "git@example.org:lib"),
        ("../lib", "/srv/git/server", "/srv/git/lib"),
        ("../lib", "file:///srv/git/server", "file:///srv/git/lib"),
        ("/srv/lib", "/srv/git/server", "/srv/lib"),
        ("file:///srv/lib", "/srv/git/server", "file:///srv/lib"),
        # A path on this machine is nothing for a repository from elsewhere.
        ("/srv/lib", HOST, None),
        ("file:///srv/lib", HOST, None),
        ("../../../../srv/lib", HOST, None),
        ("~/lib", "/srv/git/server", None),
        ("git@example.org::x", HOST, None),
        ("https://example.org/a b", HOST, None),
        ("https://example.org/a\nb", HOST, None),
    ],
)
def test_addresses_of_submodules(url: str, base: str, address: str | None) -> None:
    assert submodule_address(url, base) == address
