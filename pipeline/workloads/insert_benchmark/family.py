"""Run the steps of the Insert Benchmark with sysbench, and read their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.model import Connection, OptionValue, Scale, Step, StepOutput, Workload
from pipeline.workloads.base import (
    Action,
    Command,
    Family,
    Load,
    Maintain,
    Measure,
    Timing,
)
from pipeline.workloads.base.options import Option, check_whole_seconds, checked, whole_number
from pipeline.workloads.base.sysbench import (
    MEASURING,
    connection_options,
    rest_after_writes,
    scripts_version,
    sysbench_version,
)
from pipeline.workloads.insert_benchmark import catalogue
from pipeline.workloads.insert_benchmark.catalogue import InsertBenchmarkStep, step_named
from pipeline.workloads.insert_benchmark.parse import read_output

SCRIPTS = Path(__file__).parent / "lua"

_SLOWEST = 100.0
"""Rows per second that even a slow machine inserts into an indexed table, for time limits."""

_USUAL = 10_000.0
"""Rows per second that a client usually inserts, for expected durations."""

_PUBLISHED_ROWS = 30_000_000
"""Rows of one table at the smallest published scale."""

_ROWS_OPTIONS = {"l.i1": ("rows_i1", 40_000_000), "l.i2": ("rows_i2", 10_000_000)}
"""The load steps after l.x: for each the name of the setting with its number of rows, and the
number of rows per client at the smallest published scale."""


class InsertBenchmark(Family):
    """The workload family Insert Benchmark, run by sysbench.

    Every client has its own table. In each step it has a connection for each kind of work.
    """

    name = "insert_benchmark"
    targets: tuple[str, ...] = ("postgres", "mysql", "mariadb", "sqlite")
    options: tuple[Option, ...] = tuple(
        Option(name, f"rows that {step} inserts per client", whole_number(1), quick=False)
        for step, (name, _) in _ROWS_OPTIONS.items()
    )

    def workload(
        self, name: str, steps: Sequence[str], scale: Scale, options: Mapping[str, OptionValue]
    ) -> Workload:
        """Return an Insert Benchmark with the named steps, in published order.

        Raises UnknownStepError for an unknown name, OptionError for an invalid option, and
        ValueError for a measured time that sysbench does not support.
        """
        check_whole_seconds("sysbench", scale.measure)
        return Workload(
            family=self.name,
            name=name,
            version=scripts_version(SCRIPTS),
            # Always one table for each client: one configured workload may run with several numbers
            # of clients.
            scale=scale.model_copy(update={"tables": scale.clients}),
            steps=tuple(_step(spec) for spec in catalogue.select(steps)),
            options=checked(options, self.options),
        )

    def actions(self, workload: Workload) -> tuple[Action, ...]:
        """Return the parts of a run: load steps, maintenance, query steps."""
        loads, asks = (
            [
                Measure(step=step)
                for step in workload.steps
                if step_named(step.name).queries is queries
            ]
            for queries in (False, True)
        )
        rows = workload.scale.clients * workload.scale.rows
        return (Load(), *loads, Maintain(rest=rest_after_writes(rows, _PUBLISHED_ROWS)), *asks)

    def connections(self, workload: Workload) -> int:
        """Return the connections of the busiest step: one for each kind of work of each client.

        A run of some steps gets the same number as a run of all, so that both have the same
        placement.
        """
        return workload.scale.clients * max(len(step.kinds) for step in catalogue.STEPS)

    def tables(self, workload: Workload) -> tuple[str, ...]:
        """Return the names of the tables, one for each client."""
        return tuple(f"purchases{number}" for number in range(1, workload.scale.clients + 1))

    def command(
        self, action: Command, workload: Workload, connection: Connection, seed: int
    ) -> tuple[str, ...]:
        """Return the sysbench command of a part of a run."""
        scale = workload.scale
        base = (
            "sysbench",
            *connection_options(connection),
            f"--clients={scale.clients}",
            f"--rand-seed={seed}",
        )
        script = str(SCRIPTS / "insert_benchmark.lua")
        if isinstance(action, Load):
            return (*base, script, "prepare")
        spec = step_named(action.step.name)
        length = (
            (
                f"--time={int(scale.measure)}",
                f"--warmup={scale.warmup}",
                f"--rows-per-second={spec.rate}",
            )
            if spec.queries
            else ("--time=0", f"--rows={_rows(spec, workload)}")
        )
        return (
            *base,
            *length,
            "--events=0",
            f"--threads={scale.clients * len(spec.kinds)}",
            "--report-interval=1",
            f"--step={spec.name}",
            f"--rows-per-commit={spec.commit}",
            script,
            "run",
        )

    def explain(self, workload: Workload, connection: Connection, seed: int) -> tuple[str, ...]:
        """Return the sysbench command that prints the plans of the steps' statements."""
        return (
            "sysbench",
            *connection_options(connection),
            f"--rand-seed={seed}",
            f"--explain={','.join(step.name for step in workload.steps)}",
            str(SCRIPTS / "insert_benchmark.lua"),
            "explain",
        )

    def timing(self, action: Command, workload: Workload) -> Timing:
        """Return the measured time and the time limit of a command."""
        scale = workload.scale
        if isinstance(action, Load):
            return Timing(measured=0.0, limit=scale.clients)
        spec = step_named(action.step.name)
        if spec.queries:
            return Timing(measured=scale.measure, limit=scale.measure + scale.warmup)
        rows = _rows(spec, workload)
        longest = scale.clients * rows / _SLOWEST
        return Timing(measured=longest, limit=longest, usual=rows / _USUAL)

    def started(self, line: str, action: Command, workload: Workload) -> bool:
        """Return whether a line of sysbench's output says that measuring has begun."""
        del action, workload
        return line.startswith(MEASURING)

    def parse(self, step: Step, workload: Workload, text: str) -> StepOutput:
        """Parse the output of a step. Raises ValueError if sysbench failed."""
        spec = step_named(step.name)
        return read_output(text, spec, workload.scale)

    def tools(self) -> dict[str, str]:
        """Return the version of sysbench. Raises UserError if it is not installed."""
        return sysbench_version()


def _rows(spec: InsertBenchmarkStep, workload: Workload) -> int:
    """Return how many rows one client inserts or indexes in a load step."""
    rows = workload.scale.rows
    if spec.name not in _ROWS_OPTIONS:
        return rows
    option, published = _ROWS_OPTIONS[spec.name]
    return int(workload.options.get(option, rows * published // _PUBLISHED_ROWS))


def _step(spec: InsertBenchmarkStep) -> Step:
    return Step(name=spec.name, group=spec.group, unit=spec.unit)
