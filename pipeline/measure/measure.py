"""Run: execute a cell once on this machine and write its bundle."""

from __future__ import annotations

import logging
from pathlib import Path

from pipeline.machine.disturbance.guard import Guard
from pipeline.measure.counted_execution import CountedExecution
from pipeline.measure.execution import Bench, Execution
from pipeline.measure.expected_time import Expectation
from pipeline.measure.progress import Watcher
from pipeline.measure.workspace import Workspace
from pipeline.model import Build, Cell, Mode
from pipeline.storage.bundle import attempts

_LOG = logging.getLogger(__name__)


def measure_cell(
    cell: Cell,
    repetition: int,
    build: Build,
    bench: Bench,
    workspace: Workspace,
    bundles: Path,
    watcher: Watcher,
    expectation: Expectation,
    guard: Guard,
) -> Path:
    """Execute a cell on a fresh server and return the path of its bundle.

    The mode of the workload decides whether its steps are timed or counted. A failed step is
    recorded as failed and the next one runs. Disturbed measurements are repeated
    as often as the guard allows. A step that only reads is repeated at once. Any other disturbed
    step repeats the whole run, and the bundles of the discarded attempts stay beside the final one.
    Raises HarnessError for a run that nightshift or its machine failed (a port in use, a failed
    load, a full disk, a killed load generator), and UserError if the bundle cannot be written.
    """
    attempt = attempts(bundles, cell.run_id(repetition)) + 1
    how = CountedExecution if cell.workload.mode is Mode.COUNT else Execution
    while True:
        execution = how(cell, repetition, build, bench, workspace, watcher, expectation, guard)
        path = execution.bundle(bundles, attempt)
        _LOG.info(
            "run disturbed" if execution.again else "run measured",
            extra={
                "target": cell.revision.target,
                "revision": cell.revision.label,
                "workload": cell.workload.name,
                "config_name": cell.config.name,
                "repetition": repetition,
                "attempt": attempt,
                "bundle": path.name,
                "failed_steps": execution.failed_steps,
            },
        )
        if not execution.again:
            return path
        expectation.again(cell)
        attempt += 1
