"""Bisecting for real: commits of SQLite, one of which makes every statement slower."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.nights import Night, give_own_cache, leftovers, make_night
from tests.repositories import FAST_BUILD, commit, edit, git, releases_as_commits

STEP = "SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){\n"
WAIT = "  { volatile int i; for(i=0; i<2500; i++){} }\n"
"""About a third of the time of a point query."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """Ten commits: the sixth is the culprit, the fifth does not compile."""
    folder = tmp_path_factory.mktemp("sqlite") / "repository"
    releases_as_commits(folder, ["3.46.0"], cache)
    code = folder / "sqlite3.c"
    for number in (1, 2, 3):
        edit(code, "", f"\nint sqlite3_of_commit_{number}(void){{ return {number}; }}\n")
        commit(folder, f"small {number}")
    edit(code, "", "\nint broken(void){ return nothing_of_this_name; }\n")
    commit(folder, "broken")
    git(folder, "revert", "--no-edit", "--no-commit", "HEAD")
    assert code.read_text().count(STEP) == 1
    code.write_text(code.read_text().replace(STEP, STEP + WAIT))
    commit(folder, "slow")
    for number in (4, 5, 6):
        edit(code, "", f"\nint sqlite3_of_commit_{number}(void){{ return {number}; }}\n")
        commit(folder, f"small {number}")
    (folder / "README").write_text("words\n")
    commit(folder, "README")
    return folder


@pytest.fixture
def night(repository: Path, server_folder: Path, tmp_path: Path, cache: Path) -> Night:
    night = make_night(
        tmp_path / "night",
        revisions=[],
        steps=["point-query"],
        target="sqlite",
        config="wal",
        more=FAST_BUILD,
    )
    config = night.folder / "nightshift.toml"
    config.write_text(
        config.read_text().replace(
            "revisions = []",
            f'source = "git"\nrepository = "{repository}"\nbuild = "fast_to_compile"',
        )
    )
    give_own_cache(night, server_folder / "cache", cache)
    return night


def test_the_commit_is_named(repository: Path, night: Night, server_folder: Path) -> None:
    hashes = git(repository, "log", "--format=%H", "--reverse").splitlines()
    asked = ("bisect", "--line", "line", "--good", hashes[0][:10], "--bad", hashes[-1][:10])
    got: dict[str, Any] = night.json(*asked)
    broken, culprit = hashes[4][:12], hashes[5][:12]
    assert (got["outcome"], got["culprit"], got["confirmed"]) == ("culprit", culprit, True)
    # Nothing can tell the culprit from the one before it, which does not build.
    assert (got["parent"], got["between"]) == (hashes[3][:12], [broken])
    assert got["probability"] >= 0.99
    (found,) = got["found"]
    effects = {row["metric"]: row["effect"] for row in found["rows"]}
    assert effects["cpu_us/o"] > 0.1
    assert got["builds"] <= len(hashes)
    bundles = set(night.folder.glob("results/experiments/bisect-sqlite-*/bundles/*.tar.zst"))
    assert len(bundles) == got["runs"]
    assert night.bundles() == {}, "what is measured on suspicion is no part of the series"
    assert leftovers(server_folder / "cache") == []
