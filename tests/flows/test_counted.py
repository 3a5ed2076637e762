"""Counted workloads beside timed ones, on a simulated machine."""

from __future__ import annotations

import pytest

from pipeline.regressions.counted import FLOOR, INSTRUCTIONS
from tests.simulated import Simulation

BOTH = """
[[workload]]
name = "counts"
config = "wal"
rows = 5000
steps = ["point-query"]
mode = "count"
"""


def test_a_night_with_both_modes_files_what_the_counts_show(simulation: Simulation) -> None:
    """Nothing is seen in time, however noisy the machine is; one run counts each revision."""
    simulation.configure(more=BOTH)
    simulation.noise = 0.05
    names = [simulation.commit() for _ in range(3)]
    simulation.costs = lambda cell, _: {
        "parse": 4000.0,
        "execute": 16500.0 if simulation.place(cell.revision.label) >= 2 else 16000.0,
    }
    for stage in ("discover", "run", "ingest", "detect"):
        simulation.run(stage)
    runs = simulation.measured()
    assert len(runs) == 3 * 2 + 3
    (one,) = simulation.regressions()
    assert one["first_bad"] == names[2]
    assert [(row["mode"], row["metric"]) for row in one["rows"]] == [("count", INSTRUCTIONS)]
    assert one["worst"]["effect"] == pytest.approx(0.025, abs=FLOOR)
    assert {row[0] for row in simulation.rows() if INSTRUCTIONS in row}, "the store has the counts"


def test_a_timed_change_does_not_need_counts(simulation: Simulation) -> None:
    simulation.configure(more=BOTH)
    for _ in range(6):
        simulation.commit()
    simulation.slowness = lambda cell, step, _: (
        1.3 if simulation.place(cell.revision.label) >= 3 else 1.0
    )
    for stage in ("discover", "run", "ingest", "detect"):
        simulation.run(stage)
    (one,) = simulation.regressions()
    assert {row["mode"] for row in one["rows"]} == {"time"}
