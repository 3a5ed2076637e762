"""A failure of nightshift or its machine is no result: retried, reported, never counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import pipeline.measure.run
from pipeline.measure.harness import ATTEMPTS, BROKEN, HarnessError
from pipeline.model import Cell
from pipeline.storage.night_log import Night, Nights
from tests.simulated import Simulation


def last_night(simulation: Simulation) -> Night:
    return Nights(simulation.folder / "results").read()[-1]


@pytest.fixture
def fails(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[str, int], bool]], Counter[str]]:
    """Let runs fail by name and attempt, from 1 on; returns how often each was attempted."""
    for _ in range(4):
        simulation.commit()
    simulation.configure(line="newest = 4", repetitions=2)
    whole: Any = vars(pipeline.measure.run)["measure_cell"]

    def let(failing: Callable[[str, int], bool]) -> Counter[str]:
        attempted: Counter[str] = Counter()

        def measure_cell(cell: Cell, repetition: int, *rest: Any) -> Any:
            name = cell.run_id(repetition)
            attempted[name] += 1
            if failing(name, attempted[name]):
                raise HarnessError("port 5432 on 127.0.0.1 is in use")
            return whole(cell, repetition, *rest)

        monkeypatch.setattr(pipeline.measure.run, "measure_cell", measure_cell)
        return attempted

    return let


Fails = Callable[[Callable[[str, int], bool]], Counter[str]]


def test_a_run_is_attempted_again_after_the_others(simulation: Simulation, fails: Fails) -> None:
    attempted = fails(lambda name, attempt: attempt == 1 and name.endswith("r1"))
    ran = simulation.run("nightly")
    assert "8 runs measured" in ran.out
    assert sorted(attempted.values()) == [1, 1, 1, 1, 2, 2, 2, 2]
    # The second repetitions came first.
    assert [one.attempt for one in simulation.measured()] == [2, 2, 2, 2, 1, 1, 1, 1]
    assert last_night(simulation).harness_errors == {}


def test_a_run_that_fails_each_time_is_measured_by_the_next_night(
    simulation: Simulation, fails: Fails
) -> None:
    attempted = fails(lambda name, _: simulation.commits[3] in name)
    ran = simulation.run("nightly")
    assert "6 runs measured, 2 runs not measured (harness errors)" in ran.out
    assert ran.err.count("does not count as measured: port 5432") == 2
    assert max(attempted.values()) == ATTEMPTS
    night = last_night(simulation)
    assert (night.runs, night.queue, night.failed_steps) == (6, 2, 0)
    assert set(night.harness_errors.values()) == {"port 5432 on 127.0.0.1 is in use"}
    assert "2 runs lost to harness errors" in simulation.run("nights").out
    fails(lambda _name, _attempt: False)
    assert "2 runs measured" in simulation.run("nightly").out


def test_a_night_without_a_figure_exits_with_3(simulation: Simulation, fails: Fails) -> None:
    attempted = fails(lambda _name, _attempt: True)
    ran = simulation.run("nightly", code=3)
    assert sum(attempted.values()) == BROKEN, "a broken machine is not tried for hours"
    assert f"{BROKEN} runs in a row failed for reasons outside of the DBMS" in ran.err
    assert ran.err.splitlines()[-1].startswith("nightshift: no run could be measured")
    assert last_night(simulation).runs == 0
    assert simulation.bundles() == []
    assert simulation.run("run", code=3).out == ""
    fails(lambda _name, _attempt: False)
    assert "8 runs measured" in simulation.run("nightly").out
    # Nothing was left to measure, which is no failure.
    simulation.run("nightly")


def test_a_night_in_which_every_step_failed_exits_with_3(simulation: Simulation) -> None:
    simulation.commit()
    simulation.configure(line="newest = 1")
    simulation.slowness = lambda cell, step, settings: None
    ran = simulation.run("nightly", code=3)
    assert "no run could be measured" in ran.err
    # The DBMS failed: that is its result, and it counts.
    assert "nothing left to measure" in simulation.run("nightly").out
