"""Pull requests of a small repository of SQLite: measured for real, and reported to GitHub."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.nights import Night, leftovers
from tests.pull_requests import Hub, serving_hub
from tests.repositories import FAST, FAST_BUILD, commit, git, releases_as_commits

STEP = "SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){\n"
WAIT = "  { volatile int i; for(i=0; i<20000; i++){} }\n"
"""Several times as long as a point query."""

CONFIG = f"""{FAST_BUILD}
[machine]
class = "small"

[detect]
metrics = ["cpu_us/o"]

[preflight]
wait = "0s"

[disturbance]
watch = false

[[workload]]
name = "short"
config = "wal"
rows = 2000
steps = ["point-query"]
measure = "1s"
warmup = "100ms"
"""

SMALLEST = ("--smallest", "20%")
"""What a machine that does other things beside can exclude."""

SLOW, HARMLESS = 1, 2
"""The pull requests, by their numbers."""


@dataclass(frozen=True)
class Origin:
    """The repository, where everybody clones it from, and the commits of its pull requests."""

    folder: Path
    base: str
    heads: dict[int, str]

    def clone(self, folder: Path) -> Night:
        """Clone it as people do: without what pull requests bring."""
        git(self.folder, "clone", "-q", str(self.folder), str(folder))
        return Night(folder)


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Origin:
    folder = tmp_path_factory.mktemp("sqlite") / "repository"
    releases_as_commits(folder, ["3.46.0"], cache)
    (folder / "nightshift.toml").write_text(CONFIG)
    (folder / ".gitignore").write_text("results/\n")
    commit(folder, "nightshift")
    base = git(folder, "rev-parse", "HEAD")
    code = folder / "sqlite3.c"
    whole = code.read_text()
    assert whole.count(STEP) == 1
    changed = {
        SLOW: whole.replace(STEP, STEP + WAIT),
        HARMLESS: whole + "\nint sqlite3_harmless(void){ return 1; }\n",
    }
    heads = {}
    for number, text in changed.items():
        code.write_text(text)
        commit(folder, f"pull request {number}")
        heads[number] = git(folder, "rev-parse", "HEAD")
        git(folder, "update-ref", f"refs/pull/{number}/head", "HEAD")
        git(folder, "reset", "-q", "--hard", base)
    return Origin(folder, base, heads)


@pytest.fixture
def own_cache(server_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache whose builds are this test's."""
    own = server_folder / "cache"
    own.mkdir()
    for shared in ("downloads", "versions"):
        (own / shared).symlink_to(cache / shared)
    monkeypatch.setenv("NIGHTSHIFT_CACHE", str(own))
    yield own
    assert leftovers(own) == []


@pytest.fixture
def hub(tmp_path: Path, origin: Origin) -> Iterator[Hub]:
    folder = tmp_path / "hub"
    with serving_hub(folder, origin.heads, Night(folder).run, "small") as served:
        yield served


def measure(origin: Origin, folder: Path, number: int) -> Path:
    """Measure a pull request where no token is, and return what that left."""
    clone = origin.clone(folder / "clone")
    git(clone.folder, "fetch", "-q", "origin", f"pull/{number}/head")
    sides = (f"sqlite:.#{side}@{FAST.name}" for side in (origin.base, origin.heads[number]))
    answer = folder / "answer"
    asked = ("--out", str(answer), *SMALLEST, "--budget", "200s")
    clone.run("pull-request", "measure", *sides, *asked)
    return answer


def test_a_slower_one_fails_and_the_comment_shows_how_to_see_it_again(
    origin: Origin, hub: Hub, own_cache: Path, tmp_path: Path
) -> None:
    answer = measure(origin, tmp_path, SLOW)
    check = hub.publish(SLOW, origin.heads[SLOW], answer, *SMALLEST)
    assert (check.name, check.sha) == ("nightshift / sqlite on small", origin.heads[SLOW])
    assert check.conclusion == "failure"
    assert check.title is not None
    assert re.match(r"Slower: point-query_range=100 has [0-9.]+ % more CPU", check.title)
    (comment,) = hub.repository.all_comments()

    fresh = origin.clone(tmp_path / "fresh")
    fetch, compare = (shlex.split(line) for line in re.findall(r"(?m)^    (\S.*)$", comment.body))
    git(fresh.folder, *fetch[1:])
    stopped = fresh.run(*compare[1:], "--gate", "--format", "json", code=1)
    (row,) = json.loads(stopped.stdout)
    assert (row["step"], row["verdict"]) == ("point-query_range=100", "worse")
    assert row["ratio"] > 2.0


def test_a_harmless_one_passes_without_a_word(
    origin: Origin, hub: Hub, own_cache: Path, tmp_path: Path
) -> None:
    answer = measure(origin, tmp_path, HARMLESS)
    check = hub.publish(HARMLESS, origin.heads[HARMLESS], answer, *SMALLEST)
    assert check.conclusion == "success", check.summary
    assert check.title is not None and check.title.startswith("No regression in 1 figure; ")
    assert hub.repository.all_comments() == []
