"""The search for the smallest script that shows a regression, with scripts that only pretend."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from pipeline.experiments.reproducer import Found, ScriptRun, ScriptSearch, Sides, SuspectStep
from pipeline.experiments.reproducer_script import Instrument, ScriptTask
from pipeline.model import Step, Supply
from pipeline.targets.base.script import ScriptLines, ShellScript
from pipeline.targets.postgres.script import PostgresScript
from pipeline.targets.sqlite.script import SqliteScript
from pipeline.workloads.base import PlainSql
from pipeline.workloads.sysbench import catalogue, plain_sql

MAVEN = Supply(name="maven", kind="maven", coordinates="group:artifact")
GIT = Supply(name="git", kind="git", coordinates="repository#main", prebuilt=False, commits=True)

Cost = Callable[[str], float]
"""How many times the cost of the good version a script's bad one has."""


@dataclass
class Pretended:
    """Runs scripts that cost what ``cost`` says of their text; the good version costs 1."""

    cost: Cost
    good: float = 1.0
    seconds: float = 12.0
    installed: list[bool] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def install(self, task: ScriptTask, lines: ScriptLines, as_measured: bool) -> str:
        self.installed.append(as_measured)
        return "/measured" if as_measured else "/fast"

    def run(self, text: str, version: str = "") -> ScriptRun:
        self.texts.append(text)
        ratio = self.good if version else self.cost(text)
        limit = re.search(r"r >= ([\d.]+)", text)
        assert limit is not None
        return ScriptRun(ratio, ratio >= float(limit[1]), self.seconds)


def search(
    scripts: Pretended, shell: ShellScript | None = None, *, settings: tuple[str, ...] = ()
) -> ScriptSearch:
    shell = shell or PostgresScript()
    dialect = shell.dialect

    def sql(step: Step, rows: int) -> PlainSql:
        return plain_sql.of_step(catalogue.step_named(step.name), dialect, rows)

    sides = Sides(
        target="postgres" if dialect == "pgsql" else "sqlite",
        good="17.7",
        bad="17.8",
        good_locator="17.7.0",
        bad_locator="17.8.0",
        supply=MAVEN if dialect == "pgsql" else GIT,
        address="https://example.com/$2.jar",
    )
    return ScriptSearch("3f2a91c04b7e", sides, shell, scripts, sql, settings, 20_000)


def suspect(name: str, slowdown: float) -> SuspectStep:
    return SuspectStep(Step(name=name, group="", unit="queries"), slowdown)


def found(scripts: Pretended, *steps: SuspectStep, settings: tuple[str, ...] = ()) -> Found:
    answer = search(scripts, settings=settings).find(steps)
    assert answer is not None
    return answer


def test_nothing_but_what_is_needed_stays() -> None:
    def cost(text: str) -> float:
        needed = "SUM(k)" in text and '"jit = on"' in text and " % 100 + 1; p" not in text
        return 1.4 if needed else 1.01

    scripts = Pretended(cost)
    answer = found(
        scripts,
        suspect("read-write_range=10", 1.4),
        settings=("a = 1", "jit = on", "shared_buffers = 1GB"),
    )
    assert answer.program.event == ("SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN $1 AND $1 + 9",)
    assert answer.program.settings == ("jit = on",)
    assert answer.program.rows == 1_000
    assert "CREATE INDEX" not in answer.text
    assert "VACUUM" not in answer.text
    assert answer.instrument is Instrument.INSTRUCTIONS
    assert (answer.bad.shows, answer.good.shows) == (True, False)
    # What is handed over downloads the versions by itself; what is tried does not.
    assert "curl -f" in answer.text
    assert sum("curl -f" in text for text in scripts.texts) == 2
    assert set(scripts.installed) == {False}
    assert len(answer.text.splitlines()) <= 15


def test_the_next_step_is_tried_where_the_worst_does_not_show_it() -> None:
    scripts = Pretended(lambda text: 1.2 if "LENGTH(c)" in text else 1.0)
    answer = found(scripts, suspect("point-query_range=100", 1.5), suspect("scan_range=100", 1.2))
    assert answer.step.name == "scan_range=100"
    assert answer.program.rows == 100


def test_time_is_measured_where_instructions_do_not_show_it() -> None:
    scripts = Pretended(lambda text: 1.3 if "valgrind" not in text else 1.0)
    answer = found(scripts, suspect("point-query_range=100", 1.3))
    assert answer.instrument is Instrument.TIME
    assert "valgrind" not in answer.text
    assert len(answer.text.splitlines()) <= 15
    # Both ways of installing were tried with counts, and what was measured is what is timed.
    assert set(scripts.installed) == {False, True}


def test_a_timed_script_executes_enough_events() -> None:
    scripts = Pretended(lambda text: 1.3 if "valgrind" not in text else 1.0, seconds=1.0)
    answer = found(scripts, suspect("point-query_range=100", 1.3))
    assert 'run "$1" 5000000 ' in answer.text


@pytest.mark.parametrize("good", [1.3, math.nan])
def test_a_script_that_shows_the_good_version_is_none(good: float) -> None:
    scripts = Pretended(lambda _: 1.3, good=good)
    assert search(scripts).find([suspect("scan_range=100", 1.3)]) is None


def test_a_change_that_nothing_shows_has_no_script() -> None:
    scripts = Pretended(lambda _: 1.0)
    looked = search(scripts)
    assert looked.find([suspect("scan_range=100", 1.3)]) is None
    assert looked.tried == len(scripts.texts)


def test_the_limit_is_half_of_what_the_script_shows() -> None:
    answer = found(Pretended(lambda _: 1.44), suspect("scan_range=100", 1.3))
    assert "r >= 1.2000" in answer.text


@pytest.mark.parametrize("shell", [PostgresScript(), SqliteScript()])
@pytest.mark.parametrize("step", [step.name for step in catalogue.STEPS])
def test_no_step_has_a_script_of_more_than_15_lines(shell: ShellScript, step: str) -> None:
    """Even with everything of it and settings."""

    def cost(text: str) -> float:
        return 1.4 if "CREATE INDEX" in text and "b = 2" in text else 1.0

    answer = search(Pretended(cost), shell, settings=("a = 1", "b = 2")).find([suspect(step, 1.4)])
    assert answer is not None
    assert len(answer.text.splitlines()) <= 15
