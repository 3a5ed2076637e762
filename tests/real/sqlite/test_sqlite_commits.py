"""SQLite from a repository: releases as commits, then small commits, built as a bisection would."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from pipeline.machine.account import Account
from pipeline.measure.build import Builder, NotBuiltError, identical
from pipeline.measure.discover import Offer, revisions_of, supply_at
from pipeline.model import Revision, Supply
from pipeline.sources import source_for
from pipeline.targets.sqlite import SQLite
from tests.nights import leftovers, make_night
from tests.repositories import FAST, FAST_BUILD, commit, edit, git, releases_as_commits

RELEASES = ("3.45.0", "3.46.0")
SUPPLIES = {supply.name: supply for supply in SQLite().supplies}
CRATE, GIT = SUPPLIES["crate"], SUPPLIES["git"]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """Two releases, a README, a comment, a change of code, one that does not compile, its end."""
    folder = tmp_path_factory.mktemp("sqlite") / "repository"
    releases_as_commits(folder, RELEASES, cache)
    code = folder / "sqlite3.c"
    (folder / "README").write_text("words\n")
    commit(folder, "README")
    edit(code, "/* A comment above. */\n\n\n", "")
    commit(folder, "comment")
    edit(code, "", "\nint sqlite3_of_a_small_commit(void){ return 1; }\n")
    commit(folder, "code")
    edit(code, "", "\nint broken(void){ return nothing_of_this_name; }\n")
    commit(folder, "broken")
    git(folder, "revert", "--no-edit", "HEAD")
    return folder


def revisions(repository: Path, cache: Path) -> tuple[Revision, ...]:
    supply: Supply = supply_at(GIT, str(repository), "")
    return revisions_of(Offer("sqlite", supply), source_for(supply, cache).versions())


def test_commits_are_built_as_a_bisection_needs_them(
    repository: Path, server_folder: Path, account: Account
) -> None:
    cache = server_folder / "cache"
    builder = Builder(cache, account, options={FAST.name: FAST})
    old, new, readme, comment, code, broken, reverted = revisions(repository, cache)
    builds, seconds = [], {}
    for revision in (old, new, readme, comment, code):
        began = time.monotonic()
        builds.append(builder.obtain(revision, FAST.name))
        seconds[revision.version] = time.monotonic() - began
    print({version: round(taken, 1) for version, taken in seconds.items()})  # noqa: T201
    assert [build.provenance.reported_version.split()[0] for build in builds] == [
        "3.45.0",
        *["3.46.0"] * 4,
    ]
    (group,) = identical(builds)
    assert [build.version for build in group] == [each.version for each in (new, readme, comment)]
    with pytest.raises(NotBuiltError, match="nothing_of_this_name"):
        builder.obtain(broken, FAST.name)
    again = builder.obtain(reverted, FAST.name)
    assert again.home == builds[-1].home, "its files are those of a commit before"
    # A neighbour is fast because its objects are cached; docs/internals/development.md: how fast.
    counted = subprocess.run(
        ["ccache", "--print-stats"],
        env={"CCACHE_DIR": str(cache / "ccache"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    stats = dict(line.split() for line in counted.splitlines())
    hits = int(stats["direct_cache_hit"]) + int(stats["preprocessed_cache_hit"])
    assert hits == 2, "README and comment"
    assert int(stats["cache_miss"]) == 3


def test_a_line_of_commits_is_measured_and_one_that_does_not_build_is_left_out(
    repository: Path, tmp_path: Path, cache: Path
) -> None:
    hashes = git(repository, "log", "--format=%H", "--reverse").splitlines()
    night = make_night(
        tmp_path / "night",
        revisions=[hashes[4][:10], hashes[5][:10]],
        steps=["point-query"],
        target="sqlite",
        config="wal",
        more=FAST_BUILD,
    )
    config = night.folder / "nightshift.toml"
    text = config.read_text().replace(
        'target = "sqlite"\n',
        f'target = "sqlite"\nbuild = "{FAST.name}"\nsource = "git"\nrepository = "{repository}"\n',
    )
    config.write_text(text)
    done = night.run("nightly")
    assert f"the build of sqlite {hashes[5][:12]} failed: " in done.stderr
    assert "the night continues without it" in done.stderr
    assert len(night.bundles()) == 1
    (table,) = night.tables()
    assert [column["label"] for column in table["columns"]] == [hashes[4][:12]]
    assert leftovers(cache) == []
