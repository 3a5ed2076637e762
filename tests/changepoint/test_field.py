"""The comparison of engines: how answers are counted, and the engines of others themselves."""

from __future__ import annotations

import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from changepoint.evaluate import __main__ as command
from changepoint.evaluate import nightly
from changepoint.evaluate.field import score, table
from changepoint.evaluate.field.engines import (
    ENTRIES,
    RIVALS,
    Engine,
    EngineError,
    EngineProcess,
    Run,
    other,
    ours,
    process,
)
from changepoint.evaluate.field.progress import Progress
from changepoint.evaluate.field.speed import Spread, paired
from changepoint.evaluate.simulate import NOISES
from changepoint.series import Floats
from tests.changepoint.oracle.client import NoOracleError, Otava, engines, running

STEP_AT = 60


def stepped() -> Floats:
    """120 values with a step of ten deviations before the 60th, a multiple of PELT's jump of 5."""
    values = np.random.default_rng(31).normal(100.0, 1.0, 120)
    values[STEP_AT:] += 10.0
    return values


def never(values: Floats) -> Run:
    return Run([], 0.5)


# --- counting ------------------------------------------------------------------------


def test_one_change_is_right_for_a_step_and_a_second_one_is_not() -> None:
    got = score.match([([95, 104, 300], [100, 200]), ([], [50]), ([7], [])])
    assert (got.right, got.found, got.there) == (1, 4, 3)
    assert got.precision == 1 / 4
    assert got.recall == 1 / 3
    assert got.f1 == pytest.approx(2 * (1 / 4) * (1 / 3) / (1 / 4 + 1 / 3))


def test_the_margin_is_five_on_both_sides() -> None:
    assert [score.match([([at], [100])]).right for at in (94, 95, 105, 106)] == [0, 1, 1, 0]


def test_nothing_to_find_and_nothing_found_is_perfect() -> None:
    assert score.match([([], [])]).f1 == 1.0
    assert score.match([([], [9])]).f1 == 0.0


def test_series_of_several_steps_are_as_described() -> None:
    random = np.random.default_rng(5)

    def flat(random: np.random.Generator, ladder: object) -> Floats:
        return np.zeros((400, 1))

    counts, sizes = set(), []
    for _ in range(300):
        values, places = score.stepped(flat, random)
        assert np.flatnonzero(np.diff(values)).tolist() == [at - 1 for at in places]
        assert np.all(np.diff([0, *places, 400]) >= 30)
        counts.add(len(places))
        sizes += [abs(values[at] / values[at - 1] - 1.0) for at in places]
    assert counts == {0, 1, 2, 3, 4}
    assert 0.02 <= min(sizes) < 0.025
    assert 0.095 < max(sizes) <= 0.1


def test_several_asks_the_engine_about_every_series() -> None:
    asked: list[int] = []

    def indices(values: Floats) -> list[int]:
        asked.append(len(values))
        return []

    got = score.several(indices, NOISES["gauss"], 7, 3)
    assert asked == [400] * 7
    assert got.found == 0 and got.there > 0


def test_the_ratio_is_that_of_pairs() -> None:
    # Of each two calls the first is for warming up.
    slow = iter([100.0, 2.0, 100.0, 4.0, 100.0, 12.0])
    got = paired(
        lambda values: Run([], 2.0), lambda values: Run([], next(slow)), [np.zeros(3)] * 3, 1
    )
    assert got.seconds == Spread(2.0, 2.0, 2.0)
    assert got.ratio == Spread(1.5, 2.0, 4.0)


def test_time_left_is_planned_calls_at_the_pace_guessed_until_the_engine_has_its_own() -> None:
    progress = Progress({"a": 1000, "b": 10}, {"a": 1000.0, "b": 2.0})
    assert progress.seconds_left() == 1_000_020.0
    for _ in range(100):
        progress.called("a", "a")
    assert progress.seconds_left() < 1000.0
    progress.settle("a", 0)
    assert progress.seconds_left() == 20.0


# --- the table -----------------------------------------------------------------------


def rows(lines: list[str]) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines if "|" in line]


def test_the_table_holds_what_the_measures_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "KINDS", ("gauss", "t3"))
    monkeypatch.setattr(table, "LENGTHS", (100, 300))
    lines = list(table.field_table(3, 11, ["hunter-corrected"]))
    assert re.match(r"here: Python \d+\.\d+\.\d+, nightshift .*, numpy \d.*, scipy \d.*", lines[0])
    head, _, gauss, t3 = rows(lines)
    assert len(head) == len(gauss) == len(table.HEAD)
    expected = nightly.alarms(nightly.reported("hunter-corrected", 0.5), NOISES["t3"], 200, 3, 11)
    assert t3[:4] == ["hunter-corrected", "t3", "3", str(expected)]
    found = nightly.recall(nightly.reported("hunter-corrected", 0.5), NOISES["t3"], 0.05, 3, 11)
    assert t3[5].startswith(f"{found.value:.3f} (")
    assert len(gauss[9].split("/")) == 2


def test_an_engine_that_is_not_here_is_a_row_that_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIGHTSHIFT_ORACLE", str(tmp_path))
    monkeypatch.setenv("NIGHTSHIFT_RIVALS", str(tmp_path))
    lines = list(table.field_table(2, 1, ["otava", "mongodb"]))
    assert "oracle: not installed: run tools/oracle oracle" in lines
    _, _, otava, mongodb = rows(lines)
    assert otava[:2] == ["otava", "not installed: run tools/oracle oracle"]
    assert mongodb[:2] == ["mongodb", "not installed: run tools/oracle rivals"]


@pytest.mark.parametrize("body", ["exit 0", "read -r line", "exec 0<&-; exec 1>&-; sleep 0.1"])
def test_a_process_that_ends_early_is_one_clear_error(tmp_path: Path, body: str) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{body}\n")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(EngineError, match="process ended"), process(RIVALS, python):
        pass


def test_an_engine_that_ends_in_the_middle_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(method: str) -> Engine:
        def run(values: Floats) -> Run:
            if len(values) == table.LENGTH:
                raise EngineError("its process ended")
            return Run([], 0.1)

        return run

    monkeypatch.setattr(table, "ours", dies)
    assert rows(list(table.field_table(2, 1, ["hunter"])))[2] == ["hunter", ("its process ended")]


def test_the_command_refuses_an_engine_it_does_not_know(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["evaluate", "field", "--engines", "otava,abacus"])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 2
    assert "engine 'abacus' does not exist; choose from " in capsys.readouterr().err


# --- the engines of others -----------------------------------------------------------


@pytest.fixture(scope="module")
def rivals() -> Iterator[EngineProcess]:
    """MongoDB's and ruptures; where their environment cannot be made, tests are skipped."""
    try:
        with engines(RIVALS) as started:
            yield started
    except NoOracleError as error:
        pytest.skip(f"MongoDB's engine and ruptures cannot be had: {error}")


@pytest.fixture(scope="module")
def otava() -> Iterator[Otava]:
    """Otava; where its environment cannot be made, what needs it is skipped."""
    try:
        with running() as started:
            yield started
    except NoOracleError as error:
        pytest.skip(f"Otava cannot be had: {error}")


@pytest.mark.parametrize("name", [name for name, e in ENTRIES.items() if e.environment is RIVALS])
def test_a_rival_finds_a_clear_step_where_it_is_and_none_in_a_constant(
    rivals: EngineProcess, name: str
) -> None:
    engine = other(ENTRIES[name], rivals)
    found = engine(stepped())
    assert STEP_AT in found.indices
    assert len(found.indices) <= 2
    assert found.seconds > 0.0
    assert engine(stepped()).indices == found.indices
    assert engine(np.full(60, 7.0)).indices == []


def test_the_rivals_report_their_versions(rivals: EngineProcess) -> None:
    assert rivals.versions["signal-processing-algorithms"] == "2.1.6"
    assert rivals.versions["ruptures"] == "1.1.10"
    assert rivals.versions["numpy"].startswith("1.26.")


def test_otava_of_the_table_is_what_our_hunter_reproduces(otava: Otava) -> None:
    values = stepped()
    for name, method in (("otava", "hunter"), ("otava-1e-4", "hunter")):
        assert other(ENTRIES[name], otava.process)(values).indices == ours(method)(values).indices


def test_otavas_append_is_timed_once_a_value_and_finds_the_step(otava: Otava) -> None:
    answer = otava.process.run("otava-append", {"appended": 7}, [stepped().tolist()])
    assert len(answer["seconds"]) == 7
    assert STEP_AT in answer["indices"][0]
