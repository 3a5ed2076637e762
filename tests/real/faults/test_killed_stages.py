"""Stages killed or interrupted at random points: run again, each leaves what it would have left.

NIGHTSHIFT_KILLS is the number of points, NIGHTSHIFT_SEED another choice of them.
"""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pipeline.files.atomic_write import PARTIAL
from pipeline.storage.journal import Journal
from tests.flows.test_culprit import BRANCH, Slow, quiet_nights, steps_down
from tests.flows.test_killed_nights import Saved, concluded
from tests.flows.test_prune import YEAR
from tests.simulated import Simulation, simulate

KILLS = int(os.environ.get("NIGHTSHIFT_KILLS", "60"))
SEED = int(os.environ.get("NIGHTSHIFT_SEED", "1"))
SIGNALS = (signal.SIGKILL, signal.SIGINT)

STAGES = (
    ("ingest",),
    ("detect",),
    ("confirm",),
    ("report",),
    ("notify",),
    ("prune", "--samples", "90"),
    ("prune", "--bundles", "90"),
)
"""The stages of a night after its runs, in order."""


class Stage(NamedTuple):
    """A stage: its command line, what is there before, what it leaves, and its effects."""

    command: tuple[str, ...]
    before: Saved
    leaves: Any
    effects: int

    @property
    def idle(self) -> float:
        """Seconds since the night: samples are old a year later."""
        return YEAR if self.command[0] == "prune" else 0.0


def left(simulation: Simulation) -> Any:
    """Return all that a stage leaves for the next ones and for people."""
    results = simulation.folder / "results"
    events = [
        (event.event, event.fingerprint, event.experiment and event.blocks)
        for event in Journal(results).read()
    ]
    files = {
        str(path.relative_to(results)): path.read_bytes()
        for pattern in ("detected.json", "report.html", "tables/*", "issues/*", "bundles/*")
        for path in results.glob(pattern)
        if path.suffix != PARTIAL
    }
    experiments = {
        str(path.relative_to(results)) for path in results.glob("experiments/*/bundles/*.tar.zst")
    }
    return concluded(simulation), events, files, experiments


@pytest.fixture
def simulation(server_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """A machine that has measured a slow commit, of which the store knows nothing yet."""
    simulation = simulate(server_folder, monkeypatch)
    simulation.noise = 0.01
    simulation.slowness = slow = Slow(simulation, 1.3)
    simulation.configure(line=BRANCH, repetitions=3)
    quiet_nights(simulation, 5)
    steps_down(simulation, slow)
    simulation.run("discover")
    simulation.run("run")
    return simulation


def test_a_stage_that_is_killed_anywhere_is_repeated(
    simulation: Simulation, tmp_path: Path
) -> None:
    stages = []
    for number, command in enumerate(STAGES):
        stage = Stage(command, Saved(simulation, tmp_path / str(number)), None, 0)
        simulation.idle = stage.idle
        effects = simulation.kill(*command)
        assert effects, command
        stages.append(stage._replace(leaves=left(simulation), effects=effects))
    chance = random.Random(SEED)
    killed = dict.fromkeys([(stage.command, by) for stage in stages for by in SIGNALS], 0)
    for number in range(KILLS):
        stage, by = stages[number % len(stages)], SIGNALS[number // len(stages) % len(SIGNALS)]
        effect = chance.randint(1, stage.effects)
        where = f"{' '.join(stage.command)}, {by.name} before effect {effect} of {stage.effects}"
        stage.before.restore()
        simulation.idle = stage.idle
        assert simulation.kill(*stage.command, before=effect, by=by) == 0, where
        killed[stage.command, by] += 1
        simulation.run(*stage.command)
        assert left(simulation) == stage.leaves, where
    assert min(killed.values()) >= KILLS // len(killed)
