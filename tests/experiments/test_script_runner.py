"""Scripts run by a real shell: what they print is read, what they leave is nothing."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pipeline.experiments.reproducer_script import Instrument, ScriptTask, script_text
from pipeline.experiments.script_runner import ShellScripts
from pipeline.machine.account import find_account
from pipeline.targets.base.script import ScriptLines
from pipeline.text.errors import UserError

TASK = ScriptTask(
    title="title",
    good="1.0",
    bad="2.0",
    instrument=Instrument.TIME,
    events=1,
    limit=1.2,
)
LINES = ScriptLines(
    get=('get() { mkdir "$1"; echo "$2" >"$1/version"; }',),
    work=("load() { :; }", "run() { :; }"),
    needs=("nothing",),
)


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def scripts(server_folder: Path, notes: list[str]) -> ShellScripts:
    account = find_account()
    account.own(server_folder)
    return ShellScripts(server_folder, account, notes.append)


def test_the_last_line_is_the_answer(scripts: ShellScripts, notes: list[str]) -> None:
    run = scripts.run("echo words; echo 'ratio 1.4321: shows'")
    assert (run.ratio, run.shows) == (1.4321, True)
    run = scripts.run('echo "ratio 0.99$1: does not show"', "7")
    assert (run.ratio, run.shows) == (0.997, False)
    assert notes[0].startswith("script 1: ratio 1.4321: shows, ")


@pytest.mark.parametrize(
    "text",
    ["echo 'ratio 1.5: shows'; exit 3", "echo words", "", "echo 'ratio 1.5: shows'; echo more"],
)
def test_a_script_that_fails_shows_nothing(
    scripts: ShellScripts, notes: list[str], text: str
) -> None:
    run = scripts.run(text)
    assert math.isnan(run.ratio)
    assert not run.shows
    assert "failed" in notes[0]


def test_the_environment_is_bare(scripts: ShellScripts) -> None:
    text = "[ -z \"${HOME:-}${NIGHTSHIFT_CACHE:-}\" ] && echo 'ratio 2: shows'"
    assert scripts.run(text).shows


def test_versions_are_installed_once_and_used_by_later_scripts(scripts: ShellScripts) -> None:
    folder = scripts.install(TASK, LINES, False)
    assert Path(folder, "good/version").read_text() == "1.0\n"
    assert Path(folder, "bad/version").read_text() == "2.0\n"
    assert scripts.install(TASK, LINES, False) == folder
    assert scripts.install(TASK, LINES, True) != folder
    uses = LINES.model_copy(update={"work": ("load() { :; }", 'run() { cat "$1/version"; }')})
    assert scripts.run(script_text(TASK, uses, folder)).ratio > 0


def test_versions_that_cannot_be_installed_are_an_error_of_one_line(
    scripts: ShellScripts,
) -> None:
    broken = LINES.model_copy(update={"get": ('get() { echo "no $2" >&2; exit 4; }',)})
    with pytest.raises(UserError, match=r"cannot install 1\.0 and 2\.0 \(no [12]\.0\); install"):
        scripts.install(TASK, broken, False)
