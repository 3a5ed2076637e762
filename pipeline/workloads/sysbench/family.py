"""Run the sysbench steps, and read their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.model import Connection, Mode, OptionValue, Scale, Step, StepOutput, Workload
from pipeline.workloads.base import (
    Action,
    Command,
    Count,
    Family,
    Load,
    Maintain,
    Measure,
    PlainSql,
    Timing,
    Warm,
)
from pipeline.workloads.base.options import Option, check_whole_seconds, checked, duration, one_of
from pipeline.workloads.base.sysbench import (
    MEASURING,
    SLOWEST_LOAD,
    connection_options,
    rest_after_writes,
    scripts_version,
    sysbench_version,
)
from pipeline.workloads.sysbench import catalogue, plain_sql
from pipeline.workloads.sysbench.parse import parse_output

SCRIPTS = Path(__file__).parent / "lua"

_PUBLISHED_ROWS = 50_000_000
"""Rows of all tables together at the smallest published scale."""

_ONCE, _AFTER_EVERY_STEP = "once", "after every step"
"""When maintenance runs: after all write steps but the last two, or after each write step."""


def _whole_seconds(seconds: OptionValue) -> OptionValue:
    check_whole_seconds("sysbench", float(seconds))
    return seconds


class Sysbench(Family):
    """The workload family sysbench: 32 microbenchmarks, run by sysbench itself."""

    name = "sysbench"
    targets: tuple[str, ...] = ("postgres", "mysql", "mariadb", "sqlite")
    options: tuple[Option, ...] = (
        Option(
            "measure_writes",
            "measured time of the write steps; by default that of all steps",
            lambda written: _whole_seconds(duration(written)),
            quick=False,
        ),
        Option(
            "maintain",
            f'when maintenance runs: "{_ONCE}", between the write steps and the read steps, or '
            f'"{_AFTER_EVERY_STEP}" that writes',
            one_of(_ONCE, _AFTER_EVERY_STEP),
        ),
    )

    def workload(
        self, name: str, steps: Sequence[str], scale: Scale, options: Mapping[str, OptionValue]
    ) -> Workload:
        """Return a sysbench workload with the named steps, in published order.

        Raises UnknownStepError for an unknown name, OptionError for an invalid option, and
        ValueError for a measured time that sysbench does not support.
        """
        check_whole_seconds("sysbench", scale.measure)
        return Workload(
            family=self.name,
            name=name,
            version=scripts_version(SCRIPTS),
            scale=scale,
            steps=tuple(_step(spec) for spec in catalogue.select(steps)),
            options=checked(options, self.options),
        )

    def actions(self, workload: Workload) -> tuple[Action, ...]:
        """Return the parts of a run: load, warm-ups, steps, maintenance after the writes.

        Maintenance runs even if there is no write step, because the load also defers work.
        """
        rows = workload.scale.tables * workload.scale.rows
        maintain = Maintain(rest=rest_after_writes(rows, _PUBLISHED_ROWS))
        by_phase: dict[catalogue.Phase, list[Action]] = {phase: [] for phase in catalogue.Phase}
        for step in workload.steps:
            spec = catalogue.step_named(step.name)
            by_phase[spec.phase].append(Measure(step=step))
            if spec.group == catalogue.WRITE and _maintains_every_step(workload):
                by_phase[spec.phase].append(maintain)
        before = by_phase[catalogue.Phase.BEFORE_MAINTENANCE]
        if before[-1:] != [maintain]:
            before.append(maintain)
        return (
            Load(),
            *(Warm(step=_step(catalogue.step_named(name))) for name in catalogue.WARMUPS),
            *before,
            *by_phase[catalogue.Phase.AFTER_MAINTENANCE],
            *by_phase[catalogue.Phase.LAST],
        )

    def tables(self, workload: Workload) -> tuple[str, ...]:
        """Return the names of the tables that sysbench creates."""
        return tuple(f"sbtest{number}" for number in range(1, workload.scale.tables + 1))

    def command(
        self, action: Command, workload: Workload, connection: Connection, seed: int
    ) -> tuple[str, ...]:
        """Return the sysbench command of a part of a run.

        The command of a warm-up runs the step without measuring for the warm-up time of the scale,
        then one event of each client. In the mode count, and for a step that reads whole tables, it
        runs only these events: warming up for a time would change the counts, and one scan reads
        every row.
        """
        scale = workload.scale
        base = (
            "sysbench",
            *connection_options(connection),
            f"--tables={scale.tables}",
            f"--table-size={scale.rows}",
            f"--rand-seed={seed}",
        )
        script = str(SCRIPTS / "nightshift.lua")
        if isinstance(action, Load):
            # SQLite has one writer at a time, so further loaders would only wait.
            loaders = 1 if connection.driver == "sqlite" else min(scale.tables, scale.clients)
            return (*base, f"--threads={loaders}", script, "prepare")
        spec = catalogue.step_named(action.step.name)
        # One scan reads every row; more scans would warm nothing further.
        whole_tables = isinstance(action, Warm) and spec.unit is catalogue.Unit.ROWS
        # A warm-up by time would make counts differ from run to run.
        by_time = not whole_tables and workload.mode is Mode.TIME
        # The thread that reports would draw from sysbench's seed at the same time as the client, by
        # whose draws a prepared statement of Postgres is named: its length differed from run to run
        # (sysbench 1.0.20: sysbench.c, report_thread_proc; drv_pgsql.c, get_unique_stmt_name).
        interval = int(workload.mode is Mode.TIME)
        return (
            *base,
            *_length(action, workload),
            f"--threads={scale.clients}",
            "--rand-type=uniform",
            f"--report-interval={interval}",
            "--percentile=95",
            "--histogram=on",
            f"--step={spec.lua_step}",
            f"--range={spec.range}",
            f"--warmup={scale.warmup if by_time else 0.0}",
            script,
            "run",
        )

    def explain(self, workload: Workload, connection: Connection, seed: int) -> tuple[str, ...]:
        """Return the sysbench command that prints the plans of the steps' statements."""
        scale = workload.scale
        return (
            "sysbench",
            *connection_options(connection),
            f"--tables={scale.tables}",
            f"--table-size={scale.rows}",
            f"--rand-seed={seed}",
            f"--explain={','.join(step.name for step in workload.steps)}",
            str(SCRIPTS / "nightshift.lua"),
            "explain",
        )

    def repeatable(self, step: Step) -> bool:
        """Return whether a sysbench step only reads, so that it can be repeated."""
        return step.group != catalogue.WRITE

    def counted_events(self, step: Step, workload: Workload) -> int:
        """Return how many sysbench events the shorter counted run of a step executes."""
        del workload
        return catalogue.step_named(step.name).counted_events

    def plain_sql(self, step: Step, workload: Workload, dialect: str, rows: int) -> PlainSql | None:
        """Return the statements of a sysbench step as SQL text."""
        del workload
        return plain_sql.of_step(catalogue.step_named(step.name), dialect, rows)

    def timing(self, action: Command, workload: Workload) -> Timing:
        """Return the measured time and the time limit of a sysbench command."""
        scale = workload.scale
        measured = _measured(action, workload)
        limit = measured + scale.warmup
        if isinstance(action, Load):
            limit += scale.tables * scale.rows / SLOWEST_LOAD
        return Timing(measured=measured, limit=limit)

    def started(self, line: str, action: Command, workload: Workload) -> bool:
        """Return whether a line of sysbench's output says that measuring has begun."""
        del action, workload
        return line.startswith(MEASURING)

    def parse(self, step: Step, workload: Workload, text: str) -> StepOutput:
        """Parse the output of a sysbench step. Raises ValueError if sysbench failed."""
        spec = catalogue.step_named(step.name)
        return parse_output(text, spec, workload.scale.rows)

    def tools(self) -> dict[str, str]:
        """Return the version of sysbench. Raises UserError if it is not installed."""
        return sysbench_version()


def _step(spec: catalogue.Microbenchmark) -> Step:
    return Step(name=spec.name, group=spec.group, unit=spec.unit.value)


def _maintains_every_step(workload: Workload) -> bool:
    return workload.options.get("maintain") == _AFTER_EVERY_STEP


def _length(action: Warm | Measure | Count, workload: Workload) -> tuple[str, str]:
    """Return the options that end a sysbench command after some operations or seconds."""
    if isinstance(action, Measure):
        return f"--time={int(_measured(action, workload))}", "--events=0"
    events = action.events if isinstance(action, Count) else workload.scale.clients
    return "--time=0", f"--events={events}"


def _measured(action: Command, workload: Workload) -> float:
    """Return the measured time of a command in seconds."""
    if isinstance(action, Measure) and action.step.group == catalogue.WRITE:
        return float(workload.options.get("measure_writes", workload.scale.measure))
    return workload.scale.measure
