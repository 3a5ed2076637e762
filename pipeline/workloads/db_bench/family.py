"""Run the steps of db_bench, and read their results."""

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
from pipeline.model.counts import LONGER
from pipeline.text.units import plural
from pipeline.workloads.base import (
    Action,
    Command,
    Count,
    Family,
    Load,
    Maintain,
    Measure,
    Timing,
    Warm,
)
from pipeline.workloads.base.options import Option, check_whole_seconds, checked
from pipeline.workloads.db_bench import catalogue
from pipeline.workloads.db_bench.catalogue import SHUFFLED, DbBenchStep, step_named
from pipeline.workloads.db_bench.parse import Report, read_report, read_result
from pipeline.workloads.db_bench.statistics import read_statistics

KEY_BYTES = 20
VALUE_BYTES = 400
"""The published size of a row."""

SLOWEST_LOAD = 1000.0
"""Rows per second that even a slow machine loads, for time limits."""

_USUAL_LOAD = 300_000.0
"""Rows per second that one thread usually loads, for expected durations."""

_GREETING = "Date:"
"""The beginning of the line that db_bench prints as soon as the database is open."""

_EACH_SECOND = "--stats_interval_seconds=1"

_COMMON = (
    f"--key_size={KEY_BYTES}",
    f"--value_size={VALUE_BYTES}",
    "--histogram=true",
    # Each thread reports once a second. A common report of all threads (--report_file) would
    # include the writer beside the queries.
    _EACH_SECOND,
    "--stats_per_interval=0",
    # RocksDB's statistics cost processor time; they are off as published.
    "--statistics=false",
)
_COUNTED = (
    # Reports by time would make counts differ from run to run.
    *(option for option in _COMMON if option != _EACH_SECOND),
    # Valgrind adds the work of an ended thread to the next with its number. Without this option
    # chance decides whether a file was opened by a thread whose number the queries' then gets.
    "--file_opening_threads=1",
)
_COUNTED_EVENTS = 2000
"""Operations of the shorter counted run of a step that reads or overwrites."""

_PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


class DbBench(Family):
    """The workload family db_bench, run by the db_bench of the measured build.

    There are no tables and no statements. Every step writes, even a step with reads, so no step can
    be repeated at once. Every step opens the database anew, so that its block cache is empty at
    first. Operations during the warm-up, in whole seconds, are not counted, except in the
    histogram, which db_bench fills from the start.
    """

    name = "db_bench"
    targets: tuple[str, ...] = ("rocksdb",)
    options: tuple[Option, ...] = ()

    def workload(
        self, name: str, steps: Sequence[str], scale: Scale, options: Mapping[str, OptionValue]
    ) -> Workload:
        """Return a db_bench workload with the named steps, in published order.

        Raises UnknownStepError for an unknown name, OptionError for an invalid option, and
        ValueError for a measured time that db_bench does not support.
        """
        check_whole_seconds("db_bench", scale.measure)
        return Workload(
            family=self.name,
            name=name,
            version=digest([_COMMON, catalogue.STEPS, catalogue.SHUFFLED])[:12],
            scale=scale,
            steps=tuple(_step(spec) for spec in catalogue.select(steps)),
            options=checked(options, self.options),
        )

    def size(self, workload: Workload) -> str:
        """Return a text with the number of clients and the number of keys."""
        return f"{plural(workload.scale.clients, 'client')}, {workload.scale.rows:,} keys"

    def connections(self, workload: Workload) -> int:
        """Return the threads of the busiest step: the clients and, beside reads, a writer.

        A run of some steps gets the same number as a run of all, so that both have the same
        placement.
        """
        return workload.scale.clients + 1

    def actions(self, workload: Workload) -> tuple[Action, ...]:
        """Return the parts of a db_bench run: load, overwrites, maintenance, steps."""
        first, *others = (Measure(step=step) for step in workload.steps)
        return (first, Warm(step=_OVERWRITE), Maintain(rest=0.0), *others)

    def command(
        self, action: Command, workload: Workload, connection: Connection, seed: int
    ) -> tuple[str, ...]:
        """Return the db_bench command of a part of a run."""
        spec, scale = _spec(action), workload.scale
        how: tuple[str, ...] = (f"--threads={scale.clients}", "--use_existing_db=true")
        if spec.loads:
            how = ("--threads=1", "--use_existing_db=false")
        elif isinstance(action, Count):
            # The writer beside the queries would write as long as the instrument is slow.
            limit = "--reads" if spec.alone else "--writes"
            how += (f"{limit}={action.events}",)
        elif isinstance(action, Warm):
            how += (f"--writes={max(scale.rows // SHUFFLED // scale.clients, 1)}",)
        else:
            how += (f"--duration={_warmup(scale) + int(scale.measure)}",)
        counted = isinstance(action, Count)
        rows = action.events if isinstance(action, Count) and spec.loads else scale.rows
        benchmark = spec.alone if counted and spec.alone else spec.benchmark
        return (
            *connection.command,
            f"--db={connection.socket_dir}",
            f"--benchmarks={benchmark},stats",
            f"--num={rows}",
            f"--seed={seed}",
            *(_COUNTED if counted else _COMMON),
            *how,
            *spec.options,
        )

    def counted_events(self, step: Step, workload: Workload) -> int:
        """Return how many operations the shorter counted run of a db_bench step executes."""
        if step_named(step.name).loads:
            return max(workload.scale.rows // LONGER, 1)
        return _COUNTED_EVENTS

    def timing(self, action: Command, workload: Workload) -> Timing:
        """Return the measured time and the time limit of a db_bench command."""
        scale = workload.scale
        if _spec(action).loads or isinstance(action, Warm):
            longest = scale.rows / SLOWEST_LOAD
            return Timing(measured=longest, limit=longest, usual=scale.rows / _USUAL_LOAD)
        return Timing(measured=scale.measure, limit=_warmup(scale) + scale.measure)

    def started(self, line: str, action: Command, workload: Workload) -> bool:
        """Return whether a line of db_bench's output says that measuring has begun."""
        spec = _spec(action)
        warmup = _warmup(workload.scale)
        if spec.loads or not warmup:
            return line.startswith(_GREETING)
        report = read_report(line)
        return report is not None and report.seconds >= warmup and _counts(spec, report)

    def parse(self, step: Step, workload: Workload, text: str) -> StepOutput:
        """Parse the output of a db_bench step. Raises ValueError if db_bench failed."""
        spec = step_named(step.name)
        result = read_result(text, spec.benchmark)
        reports = [report for report in result.reports if _counts(spec, report)]
        warmup = 0 if spec.loads else _warmup(workload.scale)
        threads = 1 if spec.loads else workload.scale.clients
        operations, seconds = _warmed(reports, warmup, threads)
        if operations >= result.operations or seconds >= result.seconds:
            raise ValueError(f"the warm-up took the whole time of {step.name}; measure for longer")
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

    def counted_operations(self, step: Step, workload: Workload, text: str) -> float:
        """Return how many operations a counted db_bench run executed."""
        del workload
        spec = step_named(step.name)
        return float(read_result(text, spec.alone or spec.benchmark).operations)

    def tools(self) -> dict[str, str]:
        """Return nothing, because db_bench is a part of the build."""
        return {}


def _step(spec: DbBenchStep) -> Step:
    return Step(name=spec.name, group=spec.group, unit="operations")


_OVERWRITE = _step(step_named("overwrite"))
"""The step that overwrites rows; it also runs unmeasured, before maintenance."""


def _spec(action: Command) -> DbBenchStep:
    if isinstance(action, Load):
        raise TypeError("db_bench loads data in a measured step, not in a Load action")
    return step_named(action.step.name)


def _warmup(scale: Scale) -> int:
    """Return how long db_bench warms up, in whole seconds."""
    return math.ceil(scale.warmup)


def _counts(spec: DbBenchStep, report: Report) -> bool:
    """Return whether the thread of a report does measured work, so is not the writer."""
    return not (spec.writer and report.thread == 0)


def _warmed(reports: Sequence[Report], warmup: int, threads: int) -> tuple[int, float]:
    """Return the operations and seconds that belong to the warm-up of db_bench.

    A thread's warm-up ends with its first report after ``warmup`` seconds. A thread without such a
    report was stalled, and all its operations are measured. The returned seconds are the mean of
    all threads.
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
    """Return the throughput of all db_bench threads in each second after the warm-up.

    When a second has passed, a thread reports after its next thousand operations, so reports of
    slow threads are further apart. The throughput between two reports is assumed to be constant.
    """
    by_thread: dict[int, list[Report]] = {}
    for report in reports:
        by_thread.setdefault(report.thread, []).append(report)
    if len(by_thread) < threads:
        return ()
    end = min(thread_reports[-1].seconds for thread_reports in by_thread.values())
    seconds = np.arange(warmup, math.floor(end) + 1)
    done = np.zeros(len(seconds))
    for thread_reports in by_thread.values():
        times = [0.0, *(report.seconds for report in thread_reports)]
        done += np.interp(seconds, times, [0, *(report.operations for report in thread_reports)])
    return tuple(
        TimePoint(at=float(second), ops_per_second=float(rate))
        for second, rate in enumerate(np.diff(done), start=1)
    )
