"""The verb verify-fix on a simulated machine: twenty planted fixes, and what is refused."""

from __future__ import annotations

import random

import pytest

from tests.simulated import Simulation

COUNTED = """
[[workload]]
name = "counts"
config = "wal"
rows = 5000
steps = ["point-query", "scan", "write-only"]
mode = "count"
"""

USUAL = 20_000.0
STEPS = ("point-query_range=100", "scan_range=100", "write-only_range=10000")


@pytest.fixture
def slower(simulation: Simulation) -> Simulation:
    """Three commits; counts show that the last needs more in its first step."""
    simulation.configure(more=COUNTED, repetitions=1)
    for _ in range(3):
        simulation.commit()
    plant(simulation, 1.2, {})
    for stage in ("discover", "run", "ingest", "detect"):
        simulation.run(stage)
    return simulation


def plant(simulation: Simulation, loss: float, fixes: dict[str, dict[str, float]]) -> None:
    """Let the third commit cost ``loss``, and fixes what they say of their steps."""
    simulation.costs = lambda cell, step: {
        "execute": USUAL
        * (
            fixes[cell.revision.label].get(step, 1.0)
            if cell.revision.label in fixes
            else loss
            if simulation.place(cell.revision.label) >= 2 and step == STEPS[0]
            else 1.0
        )
    }


def planted(number: int) -> tuple[str, float, bool]:
    """Return the kind of a fix, the cost of the regressed step with it, whether it adds a loss."""
    chance = random.Random(number)
    kind = ("full", "in part", "not", "full")[number % 4]
    cost = {
        "full": 1.0 + chance.uniform(-0.01, 0.01),
        "in part": 1.2 ** chance.uniform(0.3, 0.7),
        "not": 1.2 + chance.uniform(-0.01, 0.01),
    }[kind]
    return kind, cost, number % 4 == 3


def test_twenty_planted_fixes_are_judged_right(slower: Simulation) -> None:
    (one,) = [each for each in slower.regressions() if each["rows"][0]["mode"] == "count"]
    fixes: dict[str, dict[str, float]] = {}
    plant(slower, 1.2, fixes)
    right = 0
    for number in range(20):
        kind, cost, adds = planted(number)
        name = slower.commit(f"Fix {number}")
        fixes[name] = {STEPS[0]: cost, STEPS[1]: 1.1 if adds else 1.0}
        code = 0 if kind == "full" and not adds else 1
        ran = slower.run(
            "verify-fix", one["fingerprint"], "--revision", name, "--format", "json", code=code
        )
        found = ran.json
        worse = [row["step"] for row in found["worse"]]
        right += found["outcome"] == kind and worse == [STEPS[1]] * adds
    assert right == 20


def test_it_says_how_much_came_back_with_an_interval(slower: Simulation) -> None:
    (one,) = [each for each in slower.regressions() if each["rows"][0]["mode"] == "count"]
    name = slower.commit("Half a fix")
    plant(slower, 1.21, {name: {STEPS[0]: 1.1}})
    printed = slower.run("verify-fix", one["fingerprint"], "--revision", name, code=1).out
    assert f"{name} fixes a part of the regression: 5" in printed
    assert "instructions/o in point-query_range=100 came back (interval 50% to 50%)" in printed
    assert "nothing else of 3 is worse" in printed
    slower.run("confirm")
    slower.run("notify")
    (issue,) = (text for label, text in slower.issues().items() if one["fingerprint"] in label)
    assert f"## Fix\n\n{name} fixes a part of the regression: 50%" in issue


def test_a_mistake_is_one_line(slower: Simulation) -> None:
    (one,) = [each for each in slower.regressions() if each["rows"][0]["mode"] == "count"]
    known = one["fingerprint"]
    (slower.folder / "wrong.diff").write_text("--- a/code\n+++ b/code\n@@ -1 +1 @@\n-x\n+y\n")
    for words, said in (
        ((known,), "give one fix: --patch FILE, --revision REVISION or --revert"),
        ((known, "--revert", "--revision", "x"), "give one fix"),
        ((known, "--revert"), "has no confirmed culprit to revert"),
        ((known, "--patch", "nowhere.diff"), "the patch nowhere.diff cannot be read"),
        ((known, "--patch", "wrong.diff"), "the patch wrong.diff does not apply"),
        (("f00d", "--revert"), "there is no regression f00d"),
    ):
        refused = slower.run("verify-fix", *words, code=2).err.strip()
        assert said in refused
        assert "\n" not in refused
