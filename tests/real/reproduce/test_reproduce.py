"""A slow commit of SQLite, shown by a script that needs nothing of nightshift."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.nights import Night, give_own_cache
from tests.repositories import FAST_BUILD, commit, git, releases_as_commits

STEP = "SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){\n"
WORK = "  { volatile int i; for(i=0; i<1000; i++){} }\n"

CONFIG = f"""
[preflight]
wait = "0s"

[disturbance]
watch = false
{FAST_BUILD}
[[line]]
name = "line"
target = "sqlite"
source = "git"
repository = "repository"
build = "fast_to_compile"

[[workload]]
name = "counted"
mode = "count"
config = "wal"
rows = 5000
steps = ["point-query", "read-only_range=10"]
"""

TIMES = 10
"""How often the script must show the slow commit, and not its parent."""


def test_a_script_shows_the_slow_commit_and_never_its_parent(
    server_folder: Path, cache: Path
) -> None:
    folder = server_folder / "night"
    folder.mkdir()
    (folder / "nightshift.toml").write_text(CONFIG)
    night = Night(folder)
    give_own_cache(night, server_folder / "cache", cache)
    repository = folder / "repository"
    releases_as_commits(repository, ["3.46.0"], cache)
    code = repository / "sqlite3.c"
    (repository / "README").write_text("words\n")
    commit(repository, "Words")
    assert code.read_text().count(STEP) == 1
    code.write_text(code.read_text().replace(STEP, STEP + WORK))
    commit(repository, "Slow")
    slow, parent = (git(repository, "rev-parse", name) for name in ("HEAD", "HEAD^"))
    for stage in ("discover", "run", "ingest", "detect"):
        night.run(stage)
    (one,) = night.json("regressions")
    written = night.json("reproduce", one["fingerprint"])
    assert (written["instrument"], written["rows"]) == ("instructions", 100)
    assert (written["settings"], len(written["event"])) == ([], 1)

    path = night.folder / f"results/reproducers/{one['fingerprint']}.sh"
    assert len(path.read_text().splitlines()) <= 15
    for _ in range(TIMES):
        assert _last_line(path).endswith(": shows")
        assert _last_line(path, parent).endswith(": does not show")
    assert _last_line(path, slow).endswith(": shows")


def _last_line(path: Path, *version: str) -> str:
    """Run a script with an empty environment and return what it says at the end."""
    done = subprocess.run(
        ["env", "-i", "sh", str(path), *version], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]
