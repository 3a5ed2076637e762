"""The verb reproduce on a simulated machine: what is written, sent and refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import pipeline.use_cases.reproduce
from pipeline.experiments.reproducer import ScriptRun
from pipeline.experiments.reproducer_script import ScriptTask
from pipeline.machine.account import Account
from pipeline.targets.base.script import ScriptLines
from tests.flows.test_counted import BOTH
from tests.simulated import Simulation


class PretendedScripts:
    """Shows every change, unless ``ratio`` says otherwise; the good version costs what it costs."""

    ratio = 1.3
    runs = 0

    def __init__(self, folder: Path, account: Account, note: Callable[[str], None]) -> None:
        assert folder.is_dir()
        self._folder = folder

    def install(self, task: ScriptTask, lines: ScriptLines, as_measured: bool) -> str:
        return str(self._folder)

    def run(self, text: str, version: str = "") -> ScriptRun:
        type(self).runs += 1
        ratio = 1.0 if version else self.ratio
        limit = re.search(r"r >= ([\d.]+)", text)
        assert limit is not None
        return ScriptRun(ratio, ratio >= float(limit[1]), 12.0)


@pytest.fixture
def slower(simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """Three commits, of which counts show that the last is slower."""
    monkeypatch.setattr(pipeline.use_cases.reproduce, "ShellScripts", PretendedScripts)
    monkeypatch.setattr(PretendedScripts, "ratio", 1.3)
    monkeypatch.setattr(PretendedScripts, "runs", 0)
    simulation.configure(more=BOTH + "\n[notify]\nsuspected = true\n")
    for _ in range(3):
        simulation.commit()
    simulation.costs = lambda cell, _: {
        "execute": 26_000.0 if simulation.place(cell.revision.label) >= 2 else 20_000.0
    }
    for stage in ("discover", "run", "ingest", "detect"):
        simulation.run(stage)
    return simulation


def test_a_script_is_written_and_the_issue_has_it(slower: Simulation) -> None:
    (one,) = slower.regressions()
    fingerprint = one["fingerprint"]
    slower.run("notify")
    assert all("without nightshift" not in text for text in slower.issues().values())
    printed = slower.run("reproduce", fingerprint[:6]).out
    path = slower.folder / f"results/reproducers/{fingerprint}.sh"
    assert str(path.relative_to(slower.folder)) in printed
    assert "point-query_range=100 costs 1.3 times the instructions" in printed
    text = path.read_text()
    _, good, bad = (slower.commits[number] for number in range(3))
    # The full hashes, because a repository does not hand out short ones.
    (wanted,) = re.findall(r'get bad "\$\{1:-(\w{40})\}" & get good (\w{40});', text)
    assert (wanted[0][:12], wanted[1][:12]) == (bad, good)
    assert str((slower.folder / "repository").absolute()) in text
    assert len(text.splitlines()) <= 15
    slower.run("notify")
    (issue,) = (text for name, text in slower.issues().items() if fingerprint in name)
    assert text.strip() in issue
    shown = slower.json("reproduce", fingerprint)
    assert shown["text"] == text
    assert not list((slower.folder / "cache/reproducers").iterdir())


def test_a_script_about_other_revisions_is_not_in_the_issue(slower: Simulation) -> None:
    (one,) = slower.regressions()
    slower.run("reproduce", one["fingerprint"])
    path = slower.folder / f"results/reproducers/{one['fingerprint']}.json"
    path.write_text(path.read_text().replace(slower.commits[1], "0ddba11"))
    slower.run("notify")
    assert all("without nightshift" not in text for text in slower.issues().values())


def test_what_no_script_shows_ends_with_1_and_writes_nothing(slower: Simulation) -> None:
    PretendedScripts.ratio = 1.0
    (one,) = slower.regressions()
    ran = slower.run("reproduce", one["fingerprint"], code=1)
    assert ran.out.startswith("no script shows the regression")
    assert not list((slower.folder / "cache/reproducers").iterdir())
    assert not (slower.folder / "results/reproducers").exists()


def test_a_mistake_is_one_line(slower: Simulation) -> None:
    refused = slower.run("reproduce", "f00d", code=2).err.strip()
    assert "there is no regression f00d" in refused
    assert "\n" not in refused
    assert PretendedScripts.runs == 0
