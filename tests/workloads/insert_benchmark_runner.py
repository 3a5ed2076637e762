"""Runs the Insert Benchmark's steps by the real sysbench, for the tests beside it."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.model import Connection, Scale, StepOutput, Workload
from pipeline.workloads.base import Command, Load, Measure
from pipeline.workloads.insert_benchmark.family import SCRIPTS, InsertBenchmark
from tests.workloads.sysbench_runner import run_script

FAMILY = InsertBenchmark()
ROWS = 3000
"""Rows of each table that the tests load."""

ROWS_I1, ROWS_I2 = 480, 52
"""Rows that l.i1 and l.i2 insert; the last transaction of each is smaller than the others."""


class Ran(NamedTuple):
    """A step's raw output, and what was read of it."""

    text: str
    output: StepOutput


def workload(*steps: str, clients: int = 1, measure: float = 1.0) -> Workload:
    """A small workload of these steps, and of those that come with them."""
    scale = Scale(tables=1, rows=ROWS, clients=clients, measure=measure, warmup=0.2)
    return FAMILY.workload("w", steps, scale, {"rows_i1": ROWS_I1, "rows_i2": ROWS_I2})


def sysbench(action: Command, made: Workload, connection: Connection) -> str:
    """Run the command of an action to its end and return its output, errors merged in."""
    program, *arguments = FAMILY.command(action, made, connection, seed=7)
    assert program == "sysbench"
    script = str(SCRIPTS / "insert_benchmark.lua")
    arguments.remove(script)
    return run_script(SCRIPTS / "insert_benchmark.lua", *arguments).stdout


def run(made: Workload, connection: Connection, *names: str) -> dict[str, Ran]:
    """Run the named steps of a workload, or all; return what they said, by name.

    Without names the tables are made before.
    """
    ran = {}
    if not names:
        sysbench(Load(), made, connection)
    for step in made.steps:
        if not names or step.name in names:
            text = sysbench(Measure(step=step), made, connection)
            ran[step.name] = Ran(text, FAMILY.parse(step, made, text))
    return ran
