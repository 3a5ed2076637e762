"""The whole loop, unattended: nights along a branch of which one commit is slow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.model import Cell
from tests.simulated import Simulation, counted

BRANCH = "newest = 1"
"""A night measures the newest commit of the branch."""

NEVER = 10**9

PATIENCE = 4
"""Nights within which the end of a change of this size has to be known."""


class Slow:
    """What the revisions of a branch are like: slower from one commit to before another."""

    def __init__(self, simulation: Simulation, factor: float) -> None:
        self._simulation, self._factor = simulation, factor
        self.first = self.end = NEVER

    def __call__(self, cell: Cell, step: str, settings: Mapping[str, str]) -> float:
        at = self._simulation.place(cell.revision.version)
        return self._factor if self.first <= at < self.end else 1.0


def commits(simulation: Simulation, count: int) -> None:
    for _ in range(count):
        simulation.commit()


def quiet_nights(simulation: Simulation, count: int) -> None:
    """Let nights pass along the branch, two commits each."""
    for _ in range(count):
        commits(simulation, 2)
        assert simulation.json("nightly")["detected"]["regressions"] == []


def steps_down(simulation: Simulation, slow: Slow) -> tuple[str, str]:
    """Commit what is slow among others; return the revisions of it and of its parent."""
    commits(simulation, 2)
    slow.first = len(simulation.commits)
    culprit = simulation.commit("Step with | care")
    commits(simulation, 2)
    return culprit, simulation.commits[slow.first - 1]


def the_one(simulation: Simulation) -> dict[str, Any]:
    """Return the one regression that is known, beside its recovery."""
    (known,) = (one for one in simulation.regressions() if one["direction"] == "regression")
    return dict(known)


def test_from_a_slow_commit_to_its_issue_and_to_its_end(simulation: Simulation) -> None:
    simulation.noise = 0.01
    simulation.slowness = slow = Slow(simulation, 1.3)
    simulation.configure(line=BRANCH, repetitions=3)
    quiet_nights(simulation, 5)
    good = simulation.commits[-1]
    assert simulation.issues() == {}
    assert simulation.regressions() == []

    culprit, parent = steps_down(simulation, slow)
    night = simulation.json("nightly")
    assert night["runs"] == 3
    assert night["issues"] == night["new_issues"] != []
    found = the_one(simulation)
    assert (found["state"], found["class"]) == ("confirmed", "CPU")
    assert (found["last_good"], found["first_bad"]) == (good, simulation.commits[-1])
    assert (found["culprit"]["revision"], found["culprit"]["parent"]) == (culprit, parent)
    assert (found["culprit"]["between"], found["culprit"]["confirmed"]) == ([], True)
    assert [event["event"] for event in found["events"]] == ["found", "confirmed", "bisected"]
    assert {row["metric"] for row in found["rows"]} == {"qps", "cpu_us/o"}
    assert 0.27 < found["worst"]["effect"] < 0.33
    ((name, text),) = simulation.issues().items()
    assert found["fingerprint"] in name
    named = f"`{culprit}`: Step with \\| care (x); its parent is `{parent}`"
    assert f"- culprit: {named}\n" in text
    assert "- state: confirmed\n" in text
    assert "## Why: CPU\n" in text
    # Suspicions are measured apart: the series hold the nights' own runs.
    assert len(simulation.bundles()) == 6 * 3 == len(simulation.measured())
    # In blocks of the good one, the bad one and the good one again, as a control.
    confirmed = counted(simulation.measured("confirm-"))
    assert confirmed == dict.fromkeys((good, found["first_bad"], f"{good}#2"), 3)

    begun = len(simulation.measured()), len(simulation.measured("confirm-"))
    bisected = simulation.measured("bisect-")
    again = simulation.json("nightly")
    assert (again["runs"], again["new_issues"]) == (0, [])
    assert (len(simulation.measured()), len(simulation.measured("confirm-"))) == begun
    assert simulation.measured("bisect-") == bisected

    slow.end = len(simulation.commits)
    simulation.commit("Step without care")
    nights = 0
    while (ended := the_one(simulation))["state"] != "resolved":
        nights += 1
        assert nights <= PATIENCE
        simulation.run("nightly")
        simulation.commit()
    assert ended["fingerprint"] == found["fingerprint"]
    assert ended["culprit"] == found["culprit"]
    ((same, text),) = simulation.issues().items()
    assert same == name, "one cause, one issue, and its end is no other"
    assert "- state: resolved\n" in text
    assert simulation.measured("bisect-")[: len(bisected)] == bisected


def test_a_branch_that_stays_as_it_is_has_no_issue(simulation: Simulation) -> None:
    simulation.noise = 0.01
    simulation.configure(line=BRANCH, repetitions=3)
    quiet_nights(simulation, 8)
    assert simulation.regressions() == []
    assert simulation.measured("confirm-") == simulation.measured("bisect-") == []
    assert simulation.issues() == {}


def test_a_spike_of_one_night_is_rejected_when_it_is_measured_again(
    simulation: Simulation,
) -> None:
    """A slowdown of the machine during one night names no commit."""
    simulation.noise = 0.01
    simulation.configure(line=BRANCH, repetitions=3)
    quiet_nights(simulation, 5)
    commits(simulation, 5)
    until = simulation.clock() + 3 * simulation.seconds
    simulation.drift = lambda at: 1.3 if at < until else 1.0
    assert simulation.json("nightly")["runs"] == 3
    known = the_one(simulation)
    assert (known["state"], known["culprit"]) == ("rejected", None)
    assert simulation.measured("confirm-") != []
    assert simulation.measured("bisect-") == []
    assert simulation.issues() == {}
