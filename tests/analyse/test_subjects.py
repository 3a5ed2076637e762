"""What people write to be compared, and where it is found."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pipeline.analyse.subjects import find_subject, parse_subject
from pipeline.errors import UserError


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("postgres", "'postgres' is nothing to compare; write target:version"),
        ("postgres:", "is nothing to compare"),
        ("postgres:17@", "is nothing to compare"),
        ("postgrez:17.1", "there is no target 'postgrez'; did you mean postgres"),
        ("postgres:17.1#1", "the number of a copy is 2 or more, as in postgres:17.1#2"),
        ("sqlite:/nowhere/at/all", "there is no folder /nowhere/at/all"),
    ],
)
def test_what_is_none_is_told_in_one_line(text: str, message: str) -> None:
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


def test_the_last_commit_of_a_tree_is_taken_or_the_one_that_is_named(
    repository: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    newest, options = find_subject(parse_subject(f"sqlite:{repository}"), cache)
    assert newest.locator == git(repository, "rev-parse", "HEAD")
    assert options == "rel_o2nofp"
    first = git(repository, "rev-parse", "HEAD~1")
    named, options = find_subject(parse_subject(f"sqlite:{repository}#{first[:9]}@mine"), cache)
    assert (named.locator, options) == (first, "mine")
    assert named.supply is not None
    assert named.supply.coordinates == str(repository)
    git(repository, "commit", "--allow-empty", "-qm", "three")
    younger, _ = find_subject(parse_subject(f"sqlite:{repository}"), cache)
    assert younger.locator == git(repository, "rev-parse", "HEAD")
    with pytest.raises(UserError, match="no source has it"):
        find_subject(parse_subject(f"sqlite:{repository}#{'0' * 12}"), cache)


def test_a_target_that_is_had_prebuilt_only_has_no_trees(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not built from a source tree"):
        find_subject(parse_subject(f"mysql:{tmp_path}"), tmp_path)


def test_options_choose_the_source(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no source of mysql has what rel_o2nofp asks for"):
        find_subject(parse_subject("mysql:9.1.0@rel_o2nofp"), tmp_path)


def test_a_release_is_found_wherever_it_is(cache: Path) -> None:
    try:
        found, options = find_subject(parse_subject("postgres:17.5#2"), cache)
    except UserError as error:
        pytest.skip(f"no list of releases can be had: {error}")
    assert (found.version, found.copy_number, options) == ("17.5", 2, "official")
    assert found.supply is not None
    assert found.supply.prebuilt
    with pytest.raises(UserError, match=r"postgres:17\.55: no source has it; did you mean 17\.5"):
        find_subject(parse_subject("postgres:17.55"), cache)
