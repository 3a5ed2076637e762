"""Measuring a pull request leaves an answer, whatever happens."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.confirm import simulated_figures, simulated_pair
from pipeline.experiments.interleaved import Question
from pipeline.experiments.pull_request import read_answer
from pipeline.experiments.record import Experiment
from pipeline.measure.build import NotBuiltError
from pipeline.use_cases import pull_request
from pipeline.use_cases.measuring import MeasuringContext
from tests.cli.conftest import Nightshift

ASKED = ("pull-request", "measure", "postgres:17.9", "postgres:17.10", "--out", "answer")


def reason(folder: Path) -> str:
    answer = read_answer((folder / "answer/answer.json").read_bytes())
    assert answer.measured is None
    return answer.reason


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


def raising(error: BaseException) -> Any:
    def run(*_: object, **__: object) -> None:
        raise error

    return run


def test_a_mistake_is_the_answer_in_one_line(folder: Path, nightshift: Nightshift) -> None:
    ran = nightshift(*ASKED, "--metric", "qbs")
    assert ran.code == 0
    assert reason(folder).startswith("there is no metric 'qbs'")
    assert ran.out == f"could not run: {reason(folder)}\n"
    assert nightshift(*ASKED, "--metric", "qbs", "--gate").code == 2
    reported = nightshift(*ASKED, "--metric", "qbs", "--format", "json").json
    assert reported == {"outcome": "could not run", "reason": reason(folder), "rows": []}


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "GH_TOKEN", "OURS"])
def test_nothing_runs_beside_a_token(
    folder: Path, nightshift: Nightshift, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    config = folder / "nightshift.toml"
    config.write_text(config.read_text() + '[github]\nsecret = "OURS"\n')
    monkeypatch.setenv(name, "ghs_secret")
    monkeypatch.setattr(pull_request, "experiment_of", raising(AssertionError("it was measured")))
    ran = nightshift(*ASKED)
    assert reason(folder).startswith(
        f"the environment variable {name} is set, but this command runs untrusted code; run it"
    )
    assert "ghs_secret" not in ran.out + ran.err + reason(folder)


def test_what_a_compiler_says_is_one_line_that_commands_nothing(
    folder: Path, nightshift: Nightshift, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "::add-mask::x ##[error] <b> @octocat \x1b[31m" + "x" * 1000

    class Broken:
        """A machine on which nothing builds."""

        def __enter__(self) -> Broken:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def prepare(self, _: object) -> None:
            raise NotBuiltError(said)

        def built(self, _: object) -> bool:
            return True

    pair, question = simulated_pair(), Question(figures=simulated_figures(1))
    asked = Experiment(kind="compare", base=pair.base, head=pair.head, question=question)
    monkeypatch.setattr(pull_request, "experiment_of", lambda *_, **__: asked)
    monkeypatch.setattr(MeasuringContext, "runner", lambda *_, **__: Broken())
    ran = nightshift(*ASKED)
    assert reason(folder).startswith(": :add-mask::x # #[error] <b>")
    for line in (ran.out + ran.err).splitlines():
        assert not line.startswith("::")
        assert "##[" not in line
        assert "\x1b" not in line
        assert len(line) < 400


def test_a_mistake_of_ours_is_reported_and_shown(
    folder: Path, nightshift: Nightshift, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_request, "experiment_of", raising(ZeroDivisionError("a secret")))
    with pytest.raises(ZeroDivisionError):
        nightshift(*ASKED)
    assert reason(folder) == "nightshift itself failed (ZeroDivisionError)"


def test_what_is_stopped_says_so(
    folder: Path, nightshift: Nightshift, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_request, "experiment_of", raising(KeyboardInterrupt()))
    assert nightshift(*ASKED).code == 130
    assert reason(folder) == "the measurement was stopped"


def test_what_hangs_is_given_up(
    folder: Path, nightshift: Nightshift, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(*_: object, **__: object) -> None:
        try:
            time.sleep(60)
        except Exception:
            pytest.fail("the end of time was taken for an error on the way")

    monkeypatch.setattr(pull_request, "experiment_of", hang)
    assert nightshift(*ASKED, "--limit", "100ms").code == 0
    assert reason(folder) == "the measurement took longer than 100ms"


def test_a_folder_that_cannot_be_written_is_one_line(folder: Path, nightshift: Nightshift) -> None:
    (folder / "answer").write_text("a file")
    ran = nightshift(*ASKED)
    assert ran.code == 2
    assert "answer cannot be written: " in ran.err
    assert len(ran.err.splitlines()) == 1
