"""Instructions that are planted in one function of SQLite, found by counting."""

from __future__ import annotations

from pathlib import Path

from pipeline.model import StepCounts
from pipeline.storage.bundle import COUNTS_MEMBER, read_bundle
from tests.nights import Night, give_own_cache, leftovers, make_night
from tests.repositories import FAST_BUILD, commit, git, releases_as_commits

STEP = "SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){\n"

PLANTED = (1, 7)
"""Turns of a loop of seven instructions, entered twice in a point query: .2 % and 1 % of it."""


def counts_of(night: Night, label: str) -> StepCounts:
    """Return the counts of the only step of a revision."""
    (path,) = night.folder.glob(f"results/bundles/sqlite-{label}-*.tar.zst")
    bundle = read_bundle(path)
    (step,) = bundle.manifest.steps
    return StepCounts.model_validate_json(bundle.files[f"{step.folder}/{COUNTS_MEMBER}"])


def test_small_additions_show_in_the_function_that_has_them(
    tmp_path: Path, server_folder: Path, cache: Path
) -> None:
    repository = tmp_path / "repository"
    releases_as_commits(repository, ["3.46.0"], cache)
    code = repository / "sqlite3.c"
    whole = code.read_text()
    assert whole.count(STEP) == 1
    for turns in PLANTED:
        loop = f"  {{ volatile int i; for(i=0; i<{turns}; i++){{}} }}\n"
        code.write_text(whole.replace(STEP, STEP + loop))
        commit(repository, f"Wait {turns} turns")
    labels = [line[:12] for line in git(repository, "log", "--format=%H", "--reverse").split()]
    night = make_night(
        tmp_path / "night",
        revisions=[],
        steps=["point-query"],
        target="sqlite",
        config="wal",
        more='mode = "count"\n' + FAST_BUILD,
    )
    config = night.folder / "nightshift.toml"
    text = config.read_text().replace(
        "revisions = []",
        f'source = "git"\nrepository = "{repository}"\nnewest = 3\nbuild = "fast_to_compile"',
    )
    config.write_text(text)
    give_own_cache(night, server_folder / "cache", cache)
    night.run("discover")
    night.run("run")
    base, *heads = (counts_of(night, label) for label in labels)
    for turns, head in zip(PLANTED, heads, strict=True):
        share = head.instructions / base.instructions - 1
        assert 0.5 < share / (turns * 0.0015) < 2, share
        before = {each.function: each.self_cost for each in base.functions}
        grown = {
            each.function: each.self_cost - before.get(each.function, 0.0)
            for each in head.functions
        }
        assert max(grown, key=lambda name: grown[name]) == "sqlite3_step"
        # All of the growth is in that function.
        assert abs(grown["sqlite3_step"] - (head.instructions - base.instructions)) < 1.0
    assert leftovers(server_folder / "cache") == []
