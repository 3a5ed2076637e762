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
from tests.integration.nights import make_night

pytestmark = pytest.mark.integration

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

    def config(self: Postgres, family: str, revision: Revision, machine: Machine) -> ServerConfig:
        made = real(self, family, revision, machine)
        if revision.copy_number < 3:
            return made
        return with_line(with_line(made, f"{COSTLY} = on"), f"{HARMLESS} = 8MB")

    monkeypatch.setattr(Postgres, "config", config)
    night = make_night(
        tmp_path / "night",
        revisions=[version, *(f"{version}#{number}" for number in (2, 3, 4))],
        steps=["point-query"],
        repetitions=3,
    )
    monkeypatch.chdir(night.folder)

    def verb(*words: str) -> str:
        capsys.readouterr()
        app(list(words), standalone_mode=False)
        return capsys.readouterr().out

    verb("nightly")
    (untested,) = json.loads(verb("explain", "--format", "json"))
    assert untested["first_bad"] == f"{version}#3"
    assert {suspect["name"] for suspect in untested["suspects"]} == {COSTLY, HARMLESS}
    assert untested["kind"] == "CPU"

    tests = night.folder / "results/experiments"
    asked = ("explain", "--test", "--blocks", "2", "--format", "json")
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


def _runs(tests: Path) -> dict[str, int]:
    """The bundles of a test, each with the time that it was made."""
    return {path.name: path.stat().st_mtime_ns for path in tests.glob("*/bundles/*.tar.zst")}


def _names(trial: Any) -> tuple[str, ...]:
    return tuple(suspect["name"] for suspect in trial["suspects"])
