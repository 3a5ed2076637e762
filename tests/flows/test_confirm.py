"""The verb confirm: what is suspected is measured again, in blocks with a control."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.test_culprit import NEVER, Slow, commits
from tests.simulated import Simulation, counted


@pytest.fixture
def suspicion(simulation: Simulation) -> dict[str, Any]:
    """A commit that was slower in the runs of one night, suspected and not measured again."""
    simulation.noise = 0.01
    simulation.configure(line="newest = 5", repetitions=3)
    commits(simulation, 5)
    simulation.slowness = slow = Slow(simulation, 1.3)
    slow.first = 4
    for stage in ("discover", "run", "ingest", "detect"):
        simulation.run(stage)
    slow.first = NEVER
    (found,) = simulation.regressions()
    assert found["state"] == "suspected"
    return dict(found)


def outcome(simulation: Simulation) -> Any:
    (folder,) = simulation.folder.glob("results/experiments/confirm-*")
    return json.loads((folder / "outcome.json").read_text())


def settings(simulation: Simulation, text: str) -> None:
    simulation.configure(line="newest = 5", repetitions=3, more=f"[confirm]\n{text}")


def test_what_is_no_regression_is_rejected_once(
    simulation: Simulation, suspicion: dict[str, Any]
) -> None:
    fingerprint, good, bad = (suspicion[x] for x in ("fingerprint", "last_good", "first_bad"))
    refused = simulation.run("confirm", "other", code=2).err
    assert "there is no suspected regression other" in refused
    settings(simulation, 'night = "0s"')
    assert simulation.run("confirm").out == "1 suspected regression left for the next night\n"
    assert simulation.measured("confirm-") == []

    settings(simulation, "")
    said = simulation.run("confirm").out
    assert said.startswith(f"rejected     {fingerprint}  worse   line: {good} -> {bad}  ")
    known = outcome(simulation)
    assert (known["fingerprint"], known["verdict"]) == (fingerprint, "rejected")
    assert {(row["step"], row["metric"]) for row in known["rows"]} == {
        ("point-query_range=100", "cpu_us/o"),
        ("point-query_range=100", "qps"),
    }
    assert all(low < 0.02 for row in known["rows"] for low in row["interval"][:1])
    # Base, head, control, and in the next block the other way round.
    runs = [(run.revision, run.attempt) for run in simulation.measured("confirm-")]
    control = f"{good}#2"
    order = [good, bad, control]
    expected = [
        (label, block)
        for block in range(1, known["blocks"] + 1)
        for label in (order if block % 2 else order[::-1])
    ]
    assert runs == expected
    assert known["minutes"] == pytest.approx(len(runs) * simulation.seconds / 60.0)
    (listed,) = simulation.regressions()
    assert (listed["fingerprint"], listed["state"]) == (fingerprint, "rejected")
    assert simulation.json("confirm") == []
    assert len(simulation.measured("confirm-")) == len(runs)
    assert len(simulation.bundles("confirm-")) == len(runs)


def test_what_is_slow_is_confirmed(simulation: Simulation, suspicion: dict[str, Any]) -> None:
    simulation.slowness = slow = Slow(simulation, 1.3)
    slow.first = simulation.place(suspicion["first_bad"])
    (confirmed,) = simulation.json("confirm")
    assert (confirmed["verdict"], confirmed["worse"]) == ("confirmed", True)
    assert 3 <= confirmed["blocks"] <= 5, "few, of so large a change"
    effects = {row["metric"]: row["effect"] for row in confirmed["rows"]}
    assert effects["cpu_us/o"] == pytest.approx(0.3, abs=0.03)
    assert effects["qps"] == pytest.approx(1 / 1.3 - 1, abs=0.03)


def test_a_machine_that_moved_is_no_verdict_on_the_revision(
    simulation: Simulation, suspicion: dict[str, Any]
) -> None:
    """The control is the base once more: when it differs, the machine does."""
    control = f"{suspicion['last_good']}#2"
    simulation.slowness = lambda cell, *_: 1.3 if cell.revision.label == control else 1.0
    (reported,) = simulation.json("confirm")
    assert reported["verdict"] == "environment"
    assert reported["note"] != ""


def test_what_was_reopened_is_measured_anew(
    simulation: Simulation, suspicion: dict[str, Any]
) -> None:
    fingerprint = suspicion["fingerprint"]
    simulation.run("confirm")
    before = len(simulation.measured("confirm-"))
    first = outcome(simulation)
    assert "nightshift reopen" in simulation.run("confirm", fingerprint, code=2).err
    simulation.run("reopen", fingerprint)
    simulation.run("confirm")
    (aside,) = simulation.folder.glob("results/experiments/aside/confirm-*.1/outcome.json")
    assert json.loads(aside.read_text()) == first
    again = outcome(simulation)
    assert again["at"] > first["at"]
    assert len(simulation.measured("confirm-")) == before + 3 * again["blocks"]
    (known,) = simulation.regressions()
    assert known["state"] == "rejected"


def test_an_outcome_that_a_killed_verb_left_is_taken_first(
    simulation: Simulation, suspicion: dict[str, Any]
) -> None:
    """However far the verb came, nothing is measured twice and the verdict is one."""
    effect = 4
    while not simulation.kill("confirm", before=effect):
        effect += 11
    known = outcome(simulation)
    assert known["verdict"] == "rejected"
    assert len(simulation.bundles("confirm-")) == 3 * known["blocks"]
    most = max(counted(simulation.measured("confirm-")).values())
    assert most <= known["blocks"] + 2
    (listed,) = simulation.regressions()
    assert listed["state"] == "rejected"
    assert [each["event"] for each in listed["events"]] == ["found", "rejected"]


def test_undecided_ones_wait_for_more_evidence(
    simulation: Simulation, suspicion: dict[str, Any]
) -> None:
    settings(simulation, 'smallest_effect = "0.1%"\nbudget = "0s"')
    simulation.run("nightly")
    first = outcome(simulation)
    assert (first["verdict"], first["blocks"]) == ("undecided", 1)
    runs = simulation.measured("confirm-")
    assert len(runs) == 3, "no time at all is time for one block"
    # No more is known since; so a night measures nothing.
    simulation.run("nightly")
    assert (outcome(simulation), simulation.measured("confirm-")) == (first, runs)
    # A person who asks has it go on, from the block that is there.
    settings(simulation, 'smallest_effect = "0.1%"\nbudget = "1m"')
    simulation.run("confirm")
    second = outcome(simulation)
    assert second["at"] > first["at"]
    assert second["blocks"] > 1
    assert simulation.measured("confirm-")[:3] == runs
    assert len(simulation.bundles("confirm-")) == 3 * second["blocks"]
    (anew,) = simulation.json("confirm", "--again")
    assert anew["at"] > second["at"]
