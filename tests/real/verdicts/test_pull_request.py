"""Pull requests of a small repository of SQLite: measured for real, and told to GitHub."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.github import FakeGithub
from tests.fakes.github.repository import Repository
from tests.fakes.github.things import Check
from tests.nights import Night, leftovers
from tests.repositories import FAST, FAST_BUILD, commit, git, releases_as_commits

RESET = "SQLITE_API int sqlite3_reset(sqlite3_stmt *pStmt){\n"
TENTH = """#include <time.h>
static long long nanoseconds(void){
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec*1000000000LL + now.tv_nsec;
}
"""
WAIT = """  {
    static __thread long long last;
    long long now = nanoseconds(), spent = now - last;
    if( spent<50000 ) while( nanoseconds()<now + spent/10 ){}
    last = nanoseconds();
  }
"""
"""A tenth of what was spent since the last one: of the work of a point query, on whatever machine,
and nothing of a scan, which takes longer than this waits for."""

BROKEN = "\n#error ::error::@octocat ##[warning]<img src=x> `closes #1`\n"

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
steps = ["point-query", "scan"]
measure = "1s"
warmup = "100ms"
"""

SMALLEST = ("--smallest", "5%")
ASKED = (*SMALLEST, "--budget", "200s")
COARSE = ("--smallest", "10%")
"""What a noisy machine can exclude: 5 % was undecided there after all 40 blocks."""
TRIES = 3
"""Times that a machine may answer that it is too noisy to tell; it may never answer wrongly."""
TOKEN = "ghs_of_the_trusted_workflow"  # noqa: S105 - of the fake


@dataclass(frozen=True)
class Origin:
    """The repository, where everybody clones it from, and the commits of its pull requests."""

    folder: Path
    base: str
    heads: dict[str, str]

    def clone(self, folder: Path) -> Night:
        """Clone it as people do: without what pull requests bring."""
        git(self.folder, "clone", "-q", str(self.folder), str(folder))
        return Night(folder)

    def checkout(self, folder: Path, number: int) -> Night:
        """Clone it, and fetch a pull request."""
        clone = self.clone(folder)
        git(folder, "fetch", "-q", "origin", f"pull/{number}/head")
        return clone


SLOW, HARMLESS, NO_BUILD = 1, 2, 3
"""The pull requests, by their numbers."""


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Origin:
    folder = tmp_path_factory.mktemp("sqlite") / "repository"
    releases_as_commits(folder, ["3.46.0"], cache)
    (folder / "nightshift.toml").write_text(CONFIG)
    (folder / ".gitignore").write_text("results/\n")
    commit(folder, "nightshift")
    base = git(folder, "rev-parse", "HEAD")
    code = folder / "sqlite3.c"
    assert code.read_text().count(RESET) == 1
    whole = code.read_text()
    changed = {
        SLOW: whole.replace(RESET, TENTH + RESET + WAIT),
        HARMLESS: whole + "\nint sqlite3_harmless(void){ return 1; }\n",
        NO_BUILD: whole + BROKEN,
    }
    heads = {}
    for number, text in changed.items():
        code.write_text(text)
        commit(folder, f"pull request {number}")
        heads[str(number)] = git(folder, "rev-parse", "HEAD")
        git(folder, "update-ref", f"refs/pull/{number}/head", "HEAD")
        git(folder, "reset", "-q", "--hard", base)
    return Origin(folder, base, heads)


@pytest.fixture
def own_cache(server_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache whose builds are this test's; nobody's token is in the environment."""
    own = server_folder / "cache"
    own.mkdir()
    for shared in ("downloads", "versions"):
        (own / shared).symlink_to(cache / shared)
    monkeypatch.setenv("NIGHTSHIFT_CACHE", str(own))
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    yield own
    assert leftovers(own) == []


@dataclass(frozen=True)
class Hub:
    """The repository on GitHub, whose pull requests all come from a fork."""

    fake: FakeGithub
    repository: Repository
    folder: Path

    def publish(
        self, number: int, sha: str, answer: Path, smallest: Sequence[str] = SMALLEST
    ) -> Check:
        """Publish what a run left, as the trusted workflow does, and return the check run."""
        run = self.repository.start(
            ".github/workflows/nightshift.yml",
            event="pull_request",
            sha=sha,
            branch=f"topic-{number}",
            head="mallory/db",
        )
        self.repository.finish(run.id)
        about = f"/repos/{self.repository.full_name}"
        event = {
            "repository": self._shown(about),
            "workflow_run": self._shown(f"{about}/actions/runs/{run.id}"),
        }
        (self.folder / "event.json").write_text(json.dumps(event))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(answer.rglob("*")):
                archive.write(path, path.relative_to(answer))
        (self.folder / "artifact.zip").write_bytes(packed.getvalue())
        told = ("--repository", "acme/db", "--event", "event.json", *smallest)
        of = ("--target", "sqlite", "--class", "small")
        Night(self.folder).run("pull-request", "publish", "artifact.zip", *told, *of)
        return self.repository.checks.all()[-1]

    def _shown(self, path: str) -> object:
        sent, _ = self.fake.handle("GET", path, {"user-agent": "x"})
        assert sent is not None
        return json.loads(sent.body)


@pytest.fixture
def hub(tmp_path: Path, origin: Origin, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    fake = FakeGithub()
    may = {"checks": "write", "pull_requests": "write", "contents": "read"}
    fake.account(TOKEN, "github-actions[bot]", may, only="acme/db")
    repository = fake.repository("acme/db")
    fake.repository("mallory/db", fork_of="acme/db")
    for number, sha in origin.heads.items():
        pull = repository.open_pull(
            "mallory", "Mine", sha=sha, branch=f"topic-{number}", head="mallory/db"
        )
        assert pull.number == int(number)
    folder = tmp_path / "hub"
    folder.mkdir()
    with fake.serving():
        monkeypatch.setenv("GITHUB_API_URL", fake.url)
        yield Hub(fake, repository, folder)


def measure(clone: Night, origin: Origin, number: int, *asked: str) -> Path:
    """Measure a pull request where no token is, and return what that left."""
    sides = (origin.base, origin.heads[str(number)])
    answer = clone.folder.parent / f"answer-of-{clone.folder.name}"
    words = (f"sqlite:.#{side}@{FAST.name}" for side in sides)
    clone.run("pull-request", "measure", *words, "--out", str(answer), *(asked or ASKED))
    return answer


def told(
    origin: Origin,
    hub: Hub,
    number: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *asked: str,
    smallest: Sequence[str] = SMALLEST,
) -> tuple[Path, Check]:
    """Measure a pull request until there is a verdict; return what was left, and the check."""
    tries = 0
    while True:
        tries += 1
        clone = origin.checkout(folder / f"clone-{tries}", number)
        answer = measure(clone, origin, number, *asked)
        with monkeypatch.context() as hubs:
            hubs.setenv("GITHUB_TOKEN", TOKEN)
            check = hub.publish(number, origin.heads[str(number)], answer, smallest)
        if check.conclusion != "neutral" or tries == TRIES:
            return answer, check


def reproduced(text: str, clone: Night) -> list[dict[str, Any]]:
    """Do what a comment says, in a clone, until there is a verdict; return the rows."""
    fetch, compare = (shlex.split(line) for line in re.findall(r"(?m)^    (\S.*)$", text))
    git(clone.folder, *fetch[1:])
    for _ in range(TRIES):
        rows: list[dict[str, Any]] = clone.json(*compare[1:], "--again")
        if rows[0]["verdict"] != "undecided":
            break
    # Asked again, what was measured is used.
    stopped = clone.run(*compare[1:], "--gate", "--format", "json", code=1)
    found: list[dict[str, Any]] = json.loads(stopped.stdout)
    return found


def test_a_tenth_slower_fails_and_the_comment_shows_how_to_see_it_again(
    origin: Origin, hub: Hub, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = origin.heads[str(SLOW)]
    answer, check = told(origin, hub, SLOW, tmp_path, monkeypatch)
    assert {path.name for path in answer.iterdir()} == {"answer.json", "SHA256SUMS", "bundles"}
    listed = subprocess.run(
        ["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=answer, check=False
    )
    assert listed.returncode == 0

    assert (check.name, check.sha) == ("nightshift / sqlite on small", head)
    assert check.conclusion == "failure"
    worst = "1 of 2 figures worse, most of all point-query_range=100 cpu_us/o by +"
    assert check.title is not None and check.title.startswith(worst)
    (comment,) = hub.repository.all_comments()
    assert (comment.number, comment.user) == (SLOW, "github-actions[bot]")
    rows = [line for line in comment.body.splitlines() if line.startswith("| ")]
    assert rows[2].startswith("| point-query") and "**worse**" in rows[2]

    fresh = origin.clone(tmp_path / "fresh")
    shown = reproduced(comment.body, fresh)
    (again,) = (row for row in shown if row["step"].startswith("point-query"))
    assert again["verdict"] == "worse"
    assert 1.05 < again["ratio"] < 1.25
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    assert hub.publish(SLOW, head, answer).conclusion == "failure"
    assert len(hub.repository.all_comments()) == 1


def test_what_changes_nothing_passes_without_a_word(
    origin: Origin, hub: Hub, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = (*COARSE, "--budget", "200s", "--no-bundles")
    answer, check = told(origin, hub, HARMLESS, tmp_path, monkeypatch, *asked, smallest=COARSE)
    assert {path.name for path in answer.iterdir()} == {"answer.json", "SHA256SUMS"}
    assert check.conclusion == "success", check.summary
    assert check.title is not None and check.title.startswith("No regression in 2 figures; ")
    assert hub.repository.all_comments() == []


def test_a_budget_that_shows_nothing_is_undecided(
    origin: Origin, hub: Hub, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what a machine could not do in time is no more than that."""
    head = origin.heads[str(SLOW)]
    clone = origin.checkout(tmp_path / "clone", SLOW)
    late = measure(clone, origin, SLOW, *SMALLEST, "--limit", "1s")
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    check = hub.publish(SLOW, head, late)
    assert check.conclusion == "action_required"
    assert check.summary is not None and check.summary.endswith("`it took longer than 1s`")
    assert leftovers(own_cache) == []
    monkeypatch.delenv("GITHUB_TOKEN")
    answer = measure(clone, origin, SLOW, *SMALLEST, "--budget", "1ms")
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    check = hub.publish(SLOW, head, answer)
    assert check.conclusion == "neutral"
    assert check.title is not None and check.title.startswith("Undecided: 2 of 2 figures; ")
    assert check.summary is not None and "give a longer --budget" in check.summary
    assert hub.repository.all_comments() == []


def test_what_does_not_build_could_not_run_whatever_its_compiler_says(
    origin: Origin, hub: Hub, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = origin.heads[str(NO_BUILD)]
    clone = origin.checkout(tmp_path / "clone", NO_BUILD)
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    sides = [f"sqlite:.#{each}@{FAST.name}" for each in (origin.base, head)]
    answer = tmp_path / "answer"
    words = ("pull-request", "measure", *sides, "--out", str(answer), *ASKED)
    ran = clone.run(*words)
    for line in (ran.stdout + ran.stderr).splitlines():
        assert not line.lstrip().startswith("::")
        assert "##[" not in line
    assert clone.run(*words, "--gate", code=2).stdout == ran.stdout
    assert "##[" not in summary.read_text()
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    check = hub.publish(NO_BUILD, head, answer)
    assert check.conclusion == "action_required"
    reason = (check.summary or "").splitlines()[-1]
    assert reason.startswith("``there is no build to compare: ") and reason.endswith("``")
    assert "#error ::error::@octocat" in reason
    assert hub.repository.all_comments() == []
    # With a token beside it, the code of strangers is not even built.
    refused = clone.run(*words, "--gate", code=2)
    assert "could not run: GITHUB_TOKEN is set" in refused.stdout


def test_a_measurement_that_is_killed_has_left_that_it_was_begun(
    origin: Origin, hub: Hub, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = origin.checkout(tmp_path / "clone", SLOW)
    head = origin.heads[str(SLOW)]
    sides = [f"sqlite:.#{each}@{FAST.name}" for each in (origin.base, head)]
    answer = tmp_path / "answer"
    running = clone.start("pull-request", "measure", *sides, "--out", str(answer))
    deadline = time.monotonic() + 60
    while not (answer / "SHA256SUMS").exists():
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    running.kill()
    running.wait()
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    check = hub.publish(SLOW, head, answer)
    assert check.conclusion == "action_required"
    assert "it was begun, and ended before there was an answer" in (check.summary or "")
