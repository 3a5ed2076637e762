"""Backfilling for real: commits of SQLite, one of which is slow and another does not compile."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.nights import Night, give_own_cache, leftovers, make_night
from tests.repositories import FAST_BUILD, commit, edit, git, releases_as_commits

STEP = "SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){\n"
WAIT = "  { volatile int i; for(i=0; i<8000; i++){} }\n"
"""About half of the time of a point query."""

COMMITS, BROKEN, CULPRIT = 17, 10, 9
REPETITIONS = 4
"""Of five positions with two each, a permutation test sees the largest step only half of the time;
with four always."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """As many commits, one of which is slow from then on, and another does not compile."""
    folder = tmp_path_factory.mktemp("sqlite") / "repository"
    releases_as_commits(folder, ["3.46.0"], cache)
    code = folder / "sqlite3.c"
    assert code.read_text().count(STEP) == 1
    for number in range(1, COMMITS):
        if number == CULPRIT:
            code.write_text(code.read_text().replace(STEP, STEP + WAIT))
        elif number == BROKEN + 1:
            git(folder, "revert", "--no-edit", "--no-commit", "HEAD")
        elif number == BROKEN:
            edit(code, "", "\nint broken(void){ return nothing_of_this_name; }\n")
        else:
            # Few binaries: most commits change no code.
            (folder / "README").write_text(f"{number}\n")
        commit(folder, f"commit {number}")
    return folder


@pytest.fixture
def night(repository: Path, server_folder: Path, tmp_path: Path, cache: Path) -> Night:
    night = make_night(
        tmp_path / "night",
        revisions=[],
        steps=["point-query"],
        repetitions=REPETITIONS,
        target="sqlite",
        config="wal",
        more=FAST_BUILD,
    )
    config = night.folder / "nightshift.toml"
    source = f'source = "git"\nrepository = "{repository}"\nbuild = "fast_to_compile"\nnewest = 1'
    config.write_text(config.read_text().replace("revisions = []", source))
    give_own_cache(night, server_folder / "cache", cache)
    return night


def test_a_line_is_filled_where_most_is_learnt(
    repository: Path, night: Night, server_folder: Path
) -> None:
    hashes = [each[:12] for each in git(repository, "log", "--format=%H", "--reverse").splitlines()]
    whole = ("--since", hashes[0], "--until", hashes[16])
    got = night.json("backfill", *whole, "--count", "5")
    measured = [hashes.index(each["revision"]) for each in got["measured"]]
    assert measured[:3] == [0, 16, 8]
    assert sorted(measured) == [0, 4, 8, 12, 16]
    assert got["left"] == 12
    (found,) = got["detected"]["regressions"]
    assert (found["last_good"], found["first_bad"]) == (hashes[8], hashes[12])

    foreseen = [each["revision"] for each in night.json("backfill", "--dry-run")]
    assert foreseen[0] == hashes[BROKEN]
    assert set(foreseen) == set(hashes) - set(hashes[::4])
    first = _killed_after_a_run(night)
    assert first in (hashes[9], hashes[11])
    builds = json.loads((night.folder / "results" / "builds.json").read_bytes())
    (broken,) = [each for each in builds if each["failure"]]
    assert broken["version"] == hashes[BROKEN]

    got = night.json("backfill", "--count", "3")
    assert got["left_out"] == [], "what did not build is known"
    whys = {each["revision"]: each["why"] for each in got["measured"]}
    assert next(iter(whys)) == first
    assert whys[first] == "it was begun and not finished"
    once = [name for name in night.bundles() if f"-{first}-" in name]
    assert len(once) == REPETITIONS
    if first == hashes[11]:
        assert whys[hashes[9]].startswith(f"{found['fingerprint']} is after {hashes[8]} and up to ")
    assert (
        whys[hashes[14]] == f"in the widest gap, 3 revisions between {hashes[12]} and {hashes[16]}"
    )
    (now,) = got["detected"]["regressions"]
    assert now["fingerprint"] == found["fingerprint"]
    assert (now["last_good"], now["first_bad"]) == (hashes[8], hashes[CULPRIT])
    assert [one["fingerprint"] for one in night.json("regressions")] == [found["fingerprint"]]
    assert leftovers(server_folder / "cache") == []


def _killed_after_a_run(night: Night) -> str:
    """Begin to fill, kill it when a run is done, and return of which revision that was."""
    before = set(night.bundles())
    filling = night.start("backfill")
    deadline = time.monotonic() + 120.0
    while not set(night.bundles()) - before:
        assert filling.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    filling.kill()
    filling.wait()
    # A machine that stood still may have done another run of it meanwhile, but not all.
    (revision,) = {name.split("-")[1] for name in set(night.bundles()) - before}
    return revision
