"""What people write to be compared, and where it is found."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from pipeline.experiments.revision_spec import find_subject, parse_subject, subject_text
from pipeline.model import Revision
from pipeline.targets.postgres import Postgres
from pipeline.text.errors import UserError
from tests.regressions.samples import key


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=x", "-c", "user.email=x", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgres:14.20", ("postgres", "14.20", 1, "", "")),
        ("postgres:17.11#2", ("postgres", "17.11", 2, "", "")),
        ("sqlite:3.46.0@rel_o3native", ("sqlite", "3.46.0", 1, "rel_o3native", "")),
        ("mysql:9.1.0+z12a_gtid", ("mysql", "9.1.0", 1, "", "z12a_gtid")),
        ("postgres:18.0@official+x10c", ("postgres", "18.0", 1, "official", "x10c")),
    ],
)
def test_a_side_is_read(text: str, expected: tuple[object, ...]) -> None:
    read = parse_subject(text)
    assert (read.target, read.version, read.copy_number, read.options, read.config) == expected
    assert (read.text, read.folder) == (text, "")


def test_a_folder_is_a_source_tree(tmp_path: Path) -> None:
    read = parse_subject(f"sqlite:{tmp_path}#0123abc@rel_o2nofp")
    assert (read.folder, read.version, read.options) == (str(tmp_path), "0123abc", "rel_o2nofp")
    assert parse_subject("sqlite:.").folder == str(Path.cwd())


def test_a_revision_is_written_as_it_is_read(tmp_path: Path) -> None:
    text = subject_text(key(), "17.10#2", None)
    assert text == "postgres:17.10#2@official+x10a"
    assert parse_subject(text).copy_number == 2
    supply = next(each for each in Postgres().supplies if each.commits)
    for coordinates, place in ((f"{tmp_path}#main", f"{tmp_path}#0123abc"), ("git://x", "0123abc")):
        source = supply.model_copy(update={"coordinates": coordinates})
        text = subject_text(key(), "0123abc", source)
        assert text == f"postgres:{place}@official+x10a"
        assert parse_subject(text).version == "0123abc"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "postgres",
            ("'postgres' is not target:version; write for example postgres:17.6"),
        ),
        ("postgres:", "is not target:version"),
        ("postgres:17@", "is not target:version"),
        ("postgrez:17.1", "there is no target 'postgrez'; did you mean postgres"),
        ("postgres:17.1#1", "the number of a copy must be at least 2, for example postgres:17.1#2"),
        ("sqlite:/nowhere/at/all", "there is no folder /nowhere/at/all"),
    ],
)
def test_an_invalid_revision_is_reported_in_one_line(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        parse_subject(text)
    assert "\n" not in str(caught.value)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    git(folder, "init", "-q")
    for text in ("one", "two"):
        (folder / "sqlite3.c").write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", text)
    return folder


def test_a_repository_is_the_commit_that_it_stands_at_or_the_one_that_is_named(
    repository: Path, tmp_path: Path
) -> None:
    def found(text: str) -> tuple[Revision, str]:
        return find_subject(
            parse_subject(f"sqlite:{repository}{text}"), tmp_path / "cache", tmp_path / "results"
        )

    newest, options = found("")
    assert newest.locator == git(repository, "rev-parse", "HEAD")
    assert newest.supply is not None
    assert (newest.supply.kind, newest.supply.coordinates) == ("git", str(repository))
    assert options == "rel_o2nofp"
    first = git(repository, "rev-parse", "HEAD~1")
    for name in (first[:9], "HEAD~1"):
        named, options = found(f"#{name}@mine")
        assert (named.locator, options) == (first, "mine")
    # It need not be on the branch that it stands at.
    git(repository, "checkout", "-qb", "feature")
    git(repository, "commit", "--allow-empty", "-qm", "three")
    feature = git(repository, "rev-parse", "HEAD")
    assert found("")[0].locator == feature
    git(repository, "checkout", "-q", "main")
    assert found("#feature")[0].locator == feature
    with pytest.raises(UserError, match="has no commit '000000000000'") as refused:
        found(f"#{'0' * 12}")
    assert "\n" not in str(refused.value)


def test_what_is_not_committed_is_the_tree_as_it_stands(repository: Path, tmp_path: Path) -> None:
    side = parse_subject(f"sqlite:{repository}")
    committed, _ = find_subject(side, tmp_path, repository / "results")
    # What git does not track is no change of the code.
    (repository / "notes").write_text("words")
    assert find_subject(side, tmp_path, repository / "results") == (committed, "rel_o2nofp")
    (repository / "sqlite3.c").write_text("three")
    changed, _ = find_subject(side, tmp_path, repository / "results")
    assert changed.version.startswith(f"{committed.version}-dirty-")
    assert changed.supply is not None
    assert changed.supply.kind == "tree"
    head, _ = find_subject(parse_subject(f"sqlite:{repository}#HEAD"), tmp_path, tmp_path)
    assert head == committed
    git(repository, "checkout", "--", ".")
    assert find_subject(side, tmp_path, repository / "results")[0] == committed


def test_a_folder_without_a_history_is_what_is_in_it(tmp_path: Path) -> None:
    folder, cache = tmp_path / "my tree", tmp_path / "cache"
    folder.mkdir()
    side = parse_subject(f"sqlite:{folder}@mine")

    def found() -> Revision:
        return find_subject(side, cache, folder / "results")[0]

    with pytest.raises(
        UserError, match="is empty: nothing to build; name a folder with source code"
    ):
        found()
    (folder / "sqlite3.c").write_text("one")
    first = found()
    assert re.fullmatch(r"my-tree-[0-9a-f]{8}", first.version)
    # What is measured of it is no change of it.
    (folder / "results").mkdir()
    (folder / "results/store.db").write_text("results")
    assert found() == first
    (folder / "sqlite3.c").write_text("two")
    assert found().version != first.version
    with pytest.raises(UserError, match="is not a git repository, so it has no commit HEAD"):
        find_subject(parse_subject(f"sqlite:{folder}#HEAD"), cache, tmp_path)
    with pytest.raises(
        UserError, match="a source tree must be compiled, but official means a prebuilt release"
    ):
        find_subject(parse_subject(f"sqlite:{folder}@official"), cache, tmp_path)


def test_a_folder_that_is_written_like_a_release_is_pointed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    with pytest.raises(UserError, match=r"is a folder, not a release; write sqlite:\./mine"):
        parse_subject("sqlite:mine")
    (tmp_path / "mine/3").mkdir()
    assert parse_subject("sqlite:mine/3").folder == str(tmp_path / "mine/3")


def test_options_choose_the_source(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no source of sqlite fits the build options official"):
        find_subject(parse_subject("sqlite:3.46.0@official"), tmp_path, tmp_path / "results")


def test_commits_of_a_clone_leave_out_submodules_that_no_build_needs(repository: Path) -> None:
    found, _ = find_subject(parse_subject(f"mariadb:{repository}"), repository, repository)
    assert found.supply is not None
    assert "storage/rocksdb/rocksdb" in found.supply.unused_submodules


def test_a_release_is_found_wherever_it_is(cache: Path) -> None:
    try:
        found, options = find_subject(parse_subject("postgres:17.5#2"), cache, cache / "results")
    except UserError as error:
        pytest.skip(f"no list of releases can be had: {error}")
    assert (found.version, found.copy_number, options) == ("17.5", 2, "official")
    assert found.supply is not None
    assert found.supply.prebuilt
    with pytest.raises(
        UserError,
        match=r"postgres:17\.55: no source has this version; did you mean 17\.5",
    ):
        find_subject(parse_subject("postgres:17.55"), cache, cache / "results")
