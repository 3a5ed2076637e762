"""A default that changed between two revisions of a real Postgres, named as why it is slower."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.app import app
from pipeline.model import Machine, Revision, ServerConfig
from pipeline.targets.base.configurations import with_line
from pipeline.targets.postgres import Postgres
from tests.conftest import Release
from tests.nights import give_own_cache, leftovers, make_night
from tests.probes.test_profile import why_not
from tests.repositories import FAST_BUILD, commit, edit, git, releases_as_commits

STEP = "point-query_range=100"
COSTLY, HARMLESS = "log_statement_stats", "work_mem"
"""What became another value from the third revision on: one that writes into the log for every
statement, and one that a point query does not use."""


def test_a_changed_default_is_named_and_tested_by_running_with_the_old_value(
    releases: Callable[[str], Release],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    version = releases("17").revision.version
    real = Postgres.config

    def config(family: str, revision: Revision, machine: Machine) -> ServerConfig:
        made = real(family, revision, machine)
        if revision.copy_number < 3:
            return made
        return with_line(with_line(made, f"{COSTLY} = on"), f"{HARMLESS} = 8MB")

    monkeypatch.setattr(Postgres, "config", staticmethod(config))
    night = make_night(
        tmp_path / "night",
        revisions=[version, *(f"{version}#{number}" for number in (2, 3, 4))],
        steps=["point-query"],
        repetitions=4,
        more="[notify]\nsuspected = true",
    )
    monkeypatch.chdir(night.folder)

    def verb(*words: str) -> str:
        capsys.readouterr()
        app(list(words), standalone_mode=False)
        return capsys.readouterr().out

    # A night would go on to measure again what it suspects, and to test its settings.
    for stage in ("discover", "run", "ingest", "detect"):
        verb(stage)
    (untested,) = json.loads(verb("explain", "--format", "json"))
    assert untested["first_bad"] == f"{version}#3"
    assert {suspect["name"] for suspect in untested["suspects"]} == {COSTLY, HARMLESS}
    assert untested["kind"] == "CPU"

    tests = night.folder / "results/experiments"
    asked = ("explain", "--test", "--format", "json")
    # No time at all is time for one block, which the next test has no need to measure again.
    (begun,) = json.loads(verb(*asked, "--budget", "1ms"))
    first = _runs(tests)
    assert len(first) == 3
    assert [trial["blocks"] for trial in begun["trials"]] == [1]
    assert begun["kind"] == "CPU"

    (tested,) = json.loads(verb(*asked))
    whole = _runs(tests)
    assert first.items() < whole.items()
    assert len(whole) == sum(3 * trial["blocks"] for trial in tested["trials"])
    assert tested["kind"] == "changed default"
    outcomes = {_names(trial): trial["outcome"] for trial in tested["trials"]}
    assert outcomes[COSTLY,] == "explains the change"
    assert outcomes.get((HARMLESS,)) != "explains the change"
    (step,) = tested["steps"]
    assert step["step"] == STEP
    assert COSTLY in step["findings"][0]["evidence"][0]

    assert json.loads(verb(*asked)) == [tested]
    assert _runs(tests) == whole

    (listed,) = json.loads(verb("regressions", "--format", "json"))
    assert listed["class"] == "changed default"
    verb("notify")
    (issue,) = (night.folder / "results/issues").glob("*.md")
    assert "## Why: changed default\n" in issue.read_text()
    assert COSTLY in issue.read_text()


SLOW = """
static __attribute__((noinline)) void planted_slowness(void){
  volatile int i;
  for(i=0; i<30000; i++){}
}
"""
"""Several times as long as a point query."""
BEGINS = "SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){\n"
"""What executes every statement."""


def test_a_function_that_became_slow_is_on_top_of_the_differential_profile(
    tmp_path: Path, cache: Path, server_folder: Path
) -> None:
    if reason := why_not(tmp_path):
        pytest.skip(reason)
    repository = tmp_path / "repository"
    releases_as_commits(repository, ["3.46.0"], cache)
    code = repository / "sqlite3.c"
    for number in range(3):
        if number == 1:
            code.write_text(
                code.read_text().replace(BEGINS, f"{SLOW}{BEGINS}  planted_slowness();\n")
            )
        # A comment compiles to what was compiled before.
        edit(code, "", f"\n/* {number} */\n")
        commit(repository, f"commit {number}")
    slow = git(repository, "rev-parse", "HEAD~1")[:12]
    night = make_night(
        tmp_path / "night",
        revisions=[],
        steps=["point-query"],
        target="sqlite",
        config="wal",
        repetitions=4,
        more=f"profile = true\n{FAST_BUILD}",
    )
    config = night.folder / "nightshift.toml"
    config.write_text(
        config.read_text().replace(
            "revisions = []",
            f'source = "git"\nrepository = "{repository}"\nbuild = "fast_to_compile"',
        )
    )
    give_own_cache(night, server_folder / "cache", cache)
    night.run("nightly")

    (explained,) = night.json("explain")
    assert (explained["kind"], explained["first_bad"]) == ("CPU", slow)
    (step,) = explained["steps"]
    first = step["functions"][0]
    assert (first["name"], first["own_before"]) == ("planted_slowness", 0.0)
    said = f"planted_slowness 0 -> {first['own_after']:.3g} us of its own"
    assert said in step["findings"][0]["evidence"]
    (issue,) = (night.folder / "results/issues").glob("*.md")
    text = issue.read_text()
    (table,) = (part for part in text.split("\n\n") if part.startswith("| function |"))
    assert table.splitlines()[2].startswith("| `planted_slowness` | 0 | ")
    folder = night.folder / "results/explained" / explained["fingerprint"]
    assert all(f"`{name}`" in text for name in step["pictures"])
    before, after, difference = ((folder / name).read_text() for name in step["pictures"])
    assert "planted_slowness" not in before
    assert "planted_slowness" in after
    assert "planted_slowness" in difference
    assert leftovers(server_folder / "cache") == []


def _runs(tests: Path) -> dict[str, int]:
    """The bundles of a test, each with the time that it was made."""
    return {
        path.name: path.stat().st_mtime_ns for path in tests.glob("explain-*/bundles/*.tar.zst")
    }


def _names(trial: Any) -> tuple[str, ...]:
    return tuple(suspect["name"] for suspect in trial["suspects"])
