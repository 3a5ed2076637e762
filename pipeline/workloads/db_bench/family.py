"""The db_bench family: from the catalogue to commands, and from output to figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from pipeline.model import (
    Connection,
    OptionValue,
    Scale,
    Step,
    StepOutput,
    TimePoint,
    Workload,
    digest,
)
from pipeline.workloads.base import (
    Action,
    Command,
    Load,
    Maintain,
    Measure,
    Timing,
    UnknownStepError,
    Warm,
)
from pipeline.workloads.base.options import Option, checked
from pipeline.workloads.db_bench import catalogue
from pipeline.workloads.db_bench.catalogue import SHUFFLED, StepSpec, step_named
from pipeline.workloads.db_bench.parse import Report, read_report, read_result
from pipeline.workloads.db_bench.statistics import read_statistics

KEY_BYTES = 20
VALUE_BYTES = 400
"""The published size of a row."""

SLOWEST_LOAD = 1000.0
"""Rows per second that even a slow machine loads."""

_USUAL_LOAD = 300_000.0
"""Rows per second that one thread loads where nothing is in its way."""

_GREETING = "Date:"
"""Begins the line that db_bench prints as soon as the database is open."""

_COMMON = (
    f"--key_size={KEY_BYTES}",
    f"--value_size={VALUE_BYTES}",
    "--histogram=true",
    # Each thread reports once a second. A report for all of them together (--report_file) would
    # count the writer beside the queries, too.
    "--stats_interval_seconds=1",
    "--stats_per_interval=0",
    # Counting everything that RocksDB does costs processor time, and is off as published.
    "--statistics=false",
)
_PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


class DbBench:
    """The published steps of RocksDB, run by the db_bench of the build under test.

    Every step opens the database anew, so that its block cache is empty at first. What is done in
    the whole seconds of warm-up does not count, but for the histogram, which db_bench fills from
    the start.
    """

    name = "db_bench"
    targets: tuple[str, ...] = ("rocksdb",)
    options: tuple[Option, ...] = ()

    def workload(
        self, name: str, steps: Sequence[str], scale: Scale, options: Mapping[str, OptionValue]
    ) -> Workload:
        """Return the workload of the named steps or groups, in the published order.

        Raises UnknownStepError for a name that is neither, OptionError for an option, and
        ValueError for a measured time that db_bench cannot do.
        """
        if scale.measure != int(scale.measure) or scale.measure < 1:
            raise ValueError(f"db_bench measures whole seconds, not {scale.measure:g} s")
        try:
            chosen = catalogue.select(steps)
        except ValueError as error:
            raise UnknownStepError(str(error)) from error
        return Workload(
            family=self.name,
            name=name,
            version=digest([_COMMON, catalogue.STEPS, catalogue.SHUFFLED])[:12],
            scale=scale,
            steps=tuple(_step(spec) for spec in chosen),
            options=checked(options, self.options),
        )

    def actions(self, workload: Workload) -> tuple[Action, ...]:
        """Return the steps. After the load some rows are overwritten, and maintenance is done."""
        first, *others = (Measure(step=step) for step in workload.steps)
        return (first, Warm(step=_OVERWRITE), Maintain(rest=0.0), *others)

    def tables(self, workload: Workload) -> tuple[str, ...]:
        """Return nothing: there are no tables."""
        return ()

    def command(
        self, action: Command, workload: Workload, connection: Connection, seed: int
    ) -> tuple[str, ...]:
        """Return the db_bench command of a step, or of the overwriting before the queries."""
        spec, scale = _spec(action), workload.scale
        how: tuple[str, ...] = (f"--threads={scale.clients}", "--use_existing_db=true")
        if spec.loads:
            how = ("--threads=1", "--use_existing_db=false")
        elif isinstance(action, Warm):
            how += (f"--writes={max(scale.rows // SHUFFLED // scale.clients, 1)}",)
        else:
            how += (f"--duration={_warmup(scale) + int(scale.measure)}",)
        return (
            *connection.command,
            f"--db={connection.socket_dir}",
            f"--benchmarks={spec.benchmark},stats",
            f"--num={scale.rows}",
            f"--seed={seed}",
            *_COMMON,
            *how,
            *spec.options,
        )

    def explain(self, workload: Workload, connection: Connection, seed: int) -> tuple[str, ...]:
        """Return nothing: RocksDB has no statements."""
        del workload, connection, seed
        return ()

    def repeatable(self, step: Step) -> bool:
        """Say no: every step writes, beside its reads, too."""
        del step
        return False

    def timing(self, action: Command, workload: Workload) -> Timing:
        """Return the times of the scale, but for what ends when all rows are written."""
        scale = workload.scale
        if _spec(action).loads or isinstance(action, Warm):
            longest = scale.rows / SLOWEST_LOAD
            return Timing(measured=longest, limit=longest, usual=scale.rows / _USUAL_LOAD)
        return Timing(measured=scale.measure, limit=_warmup(scale) + scale.measure)

    def started(self, line: str, action: Command, workload: Workload) -> bool:
        """Say whether the database is open or, with a warm-up, a thread has done its part of it."""
        spec = _spec(action)
        warmup = _warmup(workload.scale)
        if spec.loads or not warmup:
            return line.startswith(_GREETING)
        report = read_report(line)
        return report is not None and report.seconds >= warmup and _counts(spec, report)

    def parse(self, step: Step, workload: Workload, text: str) -> StepOutput:
        """Read a step's output. Raises ValueError when db_bench failed or was killed."""
        try:
            spec = step_named(step.name)
        except ValueError as error:
            raise UnknownStepError(str(error)) from error
        result = read_result(text, spec.benchmark)
        reports = [report for report in result.reports if _counts(spec, report)]
        warmup = 0 if spec.loads else _warmup(workload.scale)
        threads = 1 if spec.loads else workload.scale.clients
        operations, seconds = _warmed(reports, warmup, threads)
        if operations >= result.operations or seconds >= result.seconds:
            raise ValueError(f"all of {step.name} was warm-up; measure for longer")
        histogram = result.histogram
        return StepOutput(
            operations=result.operations - operations,
            seconds=result.seconds - seconds,
            timeline=_timeline(reports, warmup, threads),
            latency_ms={
                "avg": histogram.average / 1e3,
                **{name: histogram.percentile(q) / 1e3 for name, q in _PERCENTILES.items()},
                "max": histogram.most / 1e3,
            },
            histogram=histogram.in_ms(),
            figures=read_statistics(text),
        )

    def tools(self) -> dict[str, str]:
        """Return nothing: db_bench is a part of the build."""
        return {}


def _step(spec: StepSpec) -> Step:
    return Step(name=spec.name, group=spec.group, unit="operations")


_OVERWRITE = _step(step_named("overwrite"))
"""What is done without being measured, too."""


def _spec(action: Command) -> StepSpec:
    if isinstance(action, Load):
        raise TypeError("db_bench loads in a step, which is measured")
    return step_named(action.step.name)


def _warmup(scale: Scale) -> int:
    """Return the seconds of warm-up: whole ones, as db_bench reports."""
    return math.ceil(scale.warmup)


def _counts(spec: StepSpec, report: Report) -> bool:
    """Say whether a thread does what the step measures: the first one may be the writer."""
    return not (spec.writer and report.thread == 0)


def _warmed(reports: Sequence[Report], warmup: int, threads: int) -> tuple[int, float]:
    """Return how many operations and seconds were warm-up: up to each thread's report of its end.

    A thread that has made no report by then was stalled, and all that it did counts.
    """
    if not warmup:
        return 0, 0.0
    ends: dict[int, Report] = {}
    for report in reports:
        if report.seconds >= warmup:
            ends.setdefault(report.thread, report)
    seconds = sum(report.seconds for report in ends.values()) / threads
    return sum(report.operations for report in ends.values()), seconds


def _timeline(reports: Sequence[Report], warmup: int, threads: int) -> tuple[TimePoint, ...]:
    """Return the throughput of all threads together in each second after the warm-up.

    A thread reports at the first of its next thousand operations once a second is over, so that
    of slow ones the reports are further apart. Between two of them its throughput counts as even.
    """
    by_thread: dict[int, list[Report]] = {}
    for report in reports:
        by_thread.setdefault(report.thread, []).append(report)
    if len(by_thread) < threads:
        return ()
    end = min(said[-1].seconds for said in by_thread.values())
    seconds = np.arange(warmup, math.floor(end) + 1)
    done = np.zeros(len(seconds))
    for said in by_thread.values():
        times = [0.0, *(report.seconds for report in said)]
        done += np.interp(seconds, times, [0, *(report.operations for report in said)])
    return tuple(
        TimePoint(at=float(second), ops_per_second=float(rate))
        for second, rate in enumerate(np.diff(done), start=1)
    )
