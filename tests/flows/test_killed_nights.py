"""A night that is killed before any of its durable effects goes on where it was.

Durable effects are what a reader of the disk can see of a night: files that are renamed or
synchronised, and transactions of the store. A kill between two of them is the same as a kill before
the second.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.flows.test_culprit import BRANCH, Slow, commits, quiet_nights, steps_down
from tests.simulated import Simulation

SHARDS = 3
"""Tests that share the effects of a night, to run side by side; each needs a whole night first."""

STATE = ("results", "cache", "built", "begun")
"""What a night leaves in a folder."""


class Saved:
    """What the nights of a folder left so far, which can be brought back."""

    def __init__(self, simulation: Simulation, aside: Path) -> None:
        self._folder, self._aside = simulation.folder, aside
        self._copy(self._folder, aside)

    def restore(self) -> None:
        self._copy(self._aside, self._folder)

    def _copy(self, source: Path, to: Path) -> None:
        for name in STATE:
            if (to / name).is_dir():
                shutil.rmtree(to / name)
            else:
                (to / name).unlink(missing_ok=True)
            if (source / name).is_dir():
                shutil.copytree(source / name, to / name, symlinks=True)
            elif (source / name).exists():
                shutil.copy2(source / name, to / name)


def contents(simulation: Simulation) -> dict[str, bytes]:
    """Return the whole bundles of nights and experiments, by their paths."""
    return {
        str(path.relative_to(simulation.folder)): path.read_bytes()
        for path in simulation.folder.glob("results/**/*.tar.zst")
    }


def concluded(simulation: Simulation) -> Any:
    """Return what the store and the tables say."""
    return simulation.rows(), simulation.json("table", "--absolute")


def begun_once(simulation: Simulation, bundles: dict[str, bytes], kills: int) -> None:
    """Check that runs with a bundle were begun once, but for those that a kill interrupted."""
    runs = [*simulation.measured(), *simulation.measured("c"), *simulation.measured("b")]
    begun = Counter((run.experiment, run.run_id) for run in runs)
    assert len(begun) == len(bundles)
    assert sum(begun.values()) <= len(bundles) + kills
    assert max(begun.values()) <= 2


@pytest.mark.parametrize("shard", range(1, SHARDS + 1))
def test_a_night_killed_before_any_effect_loses_and_doubles_nothing(
    simulation: Simulation, tmp_path: Path, shard: int
) -> None:
    simulation.configure(line="newest = 2")
    commits(simulation, 2)
    new = Saved(simulation, tmp_path)
    simulation.run("nightly")
    whole, never_killed = set(simulation.bundles()), concluded(simulation)
    assert len(whole) == 4
    effect = shard
    while True:
        new.restore()
        if simulation.kill("nightly", before=effect):
            break
        kept = contents(simulation)
        resumed = simulation.json("nightly")
        assert resumed["runs"] == 4 - len(kept), f"killed before effect {effect}"
        after = contents(simulation)
        assert set(simulation.bundles()) == whole, f"killed before effect {effect}"
        assert kept.items() <= after.items(), f"killed before effect {effect}"
        begun_once(simulation, after, 1)
        assert concluded(simulation) == never_killed, f"killed before effect {effect}"
        simulation.run("rebuild")
        assert concluded(simulation) == never_killed, f"killed before effect {effect}"
        effect += SHARDS
    assert effect > 30, "the effects of four runs, of the store and of the reports are seen"


def test_a_night_that_is_killed_again_and_again_names_the_same_culprit(
    simulation: Simulation, tmp_path: Path
) -> None:
    """Each time some effects later: among the runs, while it confirms, bisects and writes."""
    simulation.noise = 0.01
    simulation.slowness = slow = Slow(simulation, 1.3)
    simulation.configure(line=BRANCH, repetitions=3)
    quiet_nights(simulation, 5)
    culprit, parent = steps_down(simulation, slow)
    before = Saved(simulation, tmp_path)
    simulation.run("nightly")
    whole = set(contents(simulation))
    (never_killed,) = simulation.regressions()
    issues = set(simulation.issues())
    assert never_killed["culprit"]["revision"] == culprit

    before.restore()
    kills, effect = 0, 10
    kept: dict[str, bytes] = {}
    while not simulation.kill("nightly", before=effect):
        kills += 1
        effect += 10
        now = contents(simulation)
        assert kept.items() <= now.items()
        kept = now
        assert kills < 20
    assert kills >= 5
    assert set(contents(simulation)) == whole
    begun_once(simulation, contents(simulation), kills)
    (found,) = simulation.regressions()
    assert found["state"] == never_killed["state"] == "confirmed"
    assert found["culprit"] == never_killed["culprit"]
    assert found["culprit"]["parent"] == parent
    assert [each["event"] for each in found["events"]] == ["found", "confirmed", "bisected"]
    assert set(simulation.issues()) == issues
    concluded_before = concluded(simulation)
    simulation.run("rebuild")
    assert concluded(simulation) == concluded_before
