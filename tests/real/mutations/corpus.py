"""What is mutated: bundles, journal and configuration of nights on a simulated machine.

The output of sysbench in the bundles is as captured.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.model import Cell
from tests.simulated import Simulation


def record(simulation: Simulation) -> None:
    """Do nights that find, confirm and bisect a regression; people decide on it."""

    def slowness(cell: Cell, step: str, settings: Mapping[str, str]) -> float:
        del step, settings
        return 1.3 if simulation.place(cell.revision.label) >= 9 else 1.0

    simulation.slowness = slowness
    for _ in range(12):
        simulation.commit()
    simulation.configure(line="newest = 12", steps=["scan", "point-query"], more=_MORE)
    simulation.run("nightly")
    (found, *_) = simulation.regressions()
    simulation.run("ack", found["fingerprint"], "--until", "2031-01-01", "--note", "known")
    simulation.run("reopen", found["fingerprint"])
    simulation.run("mute", "--step", "scan*", "--note", "noisy")


_MORE = """
measure = "3s"
clients = [1]

[detect]
alarms_per_1000 = 0.5

[notify]
sinks = ["directory"]

[disturbance]
repeat = 1
steal = "3%"

[confirm]
night = "20m"
"""
