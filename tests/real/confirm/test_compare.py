"""Comparing two builds of SQLite by the command line, with the real sysbench."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.model import Build
from pipeline.storage.bundle import SETTINGS_MEMBER, read_bundle
from tests.conftest import Release
from tests.nights import Night, give_own_cache, leftovers
from tests.repositories import git, releases_as_commits

CONFIG = """
[[build]]
name = "slow"
flags = "-O0"

[[build]]
name = "checking"
flags = "-O0 -DSQLITE_DEBUG"

[preflight]
wait = "0s"

[disturbance]
watch = false

[[workload]]
name = "short"
config = "wal"
rows = 2000
steps = ["point-query", "scan"]
measure = "1s"
warmup = "100ms"
"""


STEP = "SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){\n"
WAIT = "  { volatile int i; for(i=0; i<20000; i++){} }\n"
"""Several times as long as a point query."""


@pytest.fixture
def folder(tmp_path: Path, sqlite_builds: Callable[..., Build]) -> Night:
    sqlite_builds("3.46.0", "rel_o2nofp")
    return Night(tmp_path)


def test_a_slow_build_is_stopped_by_the_gate(folder: Night, cache: Path) -> None:
    (folder.folder / "nightshift.toml").write_text(CONFIG)
    sides = ("sqlite:3.46.0", "sqlite:3.46.0@checking")
    asked = ("--step", "point-query", "--smallest", "10%", "--budget", "3m", "--format", "json")
    stopped = folder.run("compare", *sides, *asked, "--gate", code=1)
    rows = {row["metric"]: row for row in json.loads(stopped.stdout)}
    assert rows.keys() == {"qps", "cpu_us/o"}
    assert rows["cpu_us/o"]["verdict"] == "worse"
    assert rows["cpu_us/o"]["ratio"] > 1.3
    low, high = rows["cpu_us/o"]["interval"]
    assert 1.0 < low < rows["cpu_us/o"]["ratio"] < high
    assert rows["cpu_us/o"]["step"] == "point-query_range=100"
    assert rows["qps"]["ratio"] < 0.9
    (experiment,) = (folder.folder / "results/experiments").iterdir()
    bundles = sorted(path.name for path in (experiment / "bundles").iterdir())
    blocks = [row["blocks"] for row in rows.values()]
    assert len(bundles) == 3 * max(blocks)
    assert {"spec.json", "comparison.json"} < {path.name for path in experiment.iterdir()}
    # What an experiment measured is no evidence of the nights.
    assert not (folder.folder / "results/bundles").exists()
    assert not (folder.folder / "results/store.db").exists()
    assert leftovers(cache) == []


def builds(night: Night) -> dict[str, str]:
    """The hash of the build that each side was measured with, by the label of its revision."""
    bundles = [read_bundle(path) for path in night.folder.glob("results/experiments/*/bundles/*")]
    return {each.manifest.revision.label: each.manifest.build.hash for each in bundles}


def test_source_trees_are_compared_as_they_stand(
    tmp_path: Path, cache: Path, server_folder: Path
) -> None:
    """A folder without a history is base; head a working tree that is slower than its commit."""
    night = Night(tmp_path)
    (tmp_path / "nightshift.toml").write_text(CONFIG)
    give_own_cache(night, server_folder / "cache", cache)
    tree, plain = tmp_path / "tree", tmp_path / "plain"
    releases_as_commits(tree, ["3.46.0"], cache)
    shutil.copytree(tree, plain, ignore=shutil.ignore_patterns(".git"))
    code = tree / "sqlite3.c"
    code.write_text(code.read_text().replace(STEP, STEP + WAIT))
    head = git(tree, "rev-parse", "HEAD")
    asked = ("--step", "point-query", "--metric", "cpu_us/o", "--smallest", "10%")

    sides = (f"sqlite:{plain}@slow", f"sqlite:{tree}@slow")
    stopped = night.run(
        "compare", *sides, *asked, "--budget", "2m", "--gate", "--format", "markdown", code=1
    ).stdout.splitlines()
    assert stopped[1].startswith("### Slower: point-query_range=100 has ")
    (row,) = (line for line in stopped if line.startswith("| point-query"))
    assert "| **worse** |" in row
    made = builds(night)
    (base,) = (label for label in made if re.fullmatch(r"plain-[0-9a-f]{8}", label))
    (dirty,) = (label for label in made if label.startswith(f"{head[:12]}-dirty-"))
    assert stopped[3].startswith(f"`sqlite {dirty} slow wal_")
    assert f"against `sqlite {base} slow wal_" in stopped[3]
    assert made[base] != made[dirty]

    # The commit is what the other folder holds. No time at all is time for one block.
    night.run("compare", f"sqlite:{tree}#HEAD@slow", sides[1], *asked, "--budget", "1ms")
    made = builds(night)
    assert made[head[:12]] == made[base]
    assert len({made[base], made[dirty]}) == 2
    assert leftovers(server_folder / "cache") == []


def test_a_tree_that_does_not_compile_is_reported_with_its_first_error(
    tmp_path: Path, cache: Path, server_folder: Path
) -> None:
    night = Night(tmp_path)
    (tmp_path / "nightshift.toml").write_text(CONFIG)
    give_own_cache(night, server_folder / "cache", cache)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/sqlite3.c").write_text("int broken(void) { return nothing; }\n")
    refused = night.run("compare", "sqlite:./broken", "sqlite:./broken", code=2).stderr.strip()
    said = refused.splitlines()[-1]
    assert "a build failed, so there is nothing to compare: " in said
    assert "nothing" in said


def test_two_configurations_of_one_build_are_two_sides(
    tmp_path: Path, releases: Callable[[str], Release]
) -> None:
    version = releases("18").revision.version
    night = Night(tmp_path)
    (tmp_path / "nightshift.toml").write_text(CONFIG.replace('"wal"', '"x10b"'))
    sides = (f"postgres:{version}+x10b", f"postgres:{version}+x10c")
    # No time at all is time for one block.
    asked = ("--step", "point-query", "--budget", "1ms")
    text = night.run("compare", *sides, *asked).stdout
    assert re.search(rf"^base  postgres {version} official x10b_", text, re.MULTILINE)
    assert re.search(rf"^head  postgres {version} official x10c_", text, re.MULTILINE)
    assert "no regression found, 2 undecided" in text
    assert "too few blocks to detect any change" in text
    bundles = [read_bundle(path) for path in tmp_path.glob("results/experiments/*/bundles/*")]
    methods = sorted(json.loads(each.files[SETTINGS_MEMBER])["io_method"] for each in bundles)
    assert methods == ["sync", "sync", "worker"]
