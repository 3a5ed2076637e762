"""Parse the output of db_bench: results, histograms and intermediate reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_RESULT = re.compile(
    r"^(?P<name>\w+) *: +[\d.]+ micros/op (?P<rate>\d+) ops/sec"
    # Since 7.0.
    r"(?: (?P<seconds>[\d.]+) seconds (?P<operations>\d+) operations)?;",
    re.MULTILINE,
)
_HISTOGRAM = re.compile(
    r"^Microseconds per (?P<what>\w+):\n"
    r"Count: (?P<count>\d+) +Average: (?P<average>[\d.]+) .*\n"
    r"Min: (?P<min>\d+) +Median: [\d.]+ +Max: (?P<max>\d+)\n",
    re.MULTILINE,
)
_BUCKET = re.compile(r"^[\[(] *(\d+), +(\d+) \] +(\d+) +[\d.]+% +[\d.]+% ?#*$")
_REPORT = re.compile(
    r"^\S+ +\.\.\. thread (\d+): \(\d+,(\d+)\) ops and \([\d.]+,[\d.]+\) ops/second "
    r"in \([\d.]+,([\d.]+)\) seconds"
)

_MS = 1e-3
"""Milliseconds per microsecond."""


class Report(NamedTuple):
    """The operations and seconds of a db_bench thread since its start."""

    thread: int
    operations: int
    seconds: float


class Bucket(NamedTuple):
    """A bucket of db_bench's histogram: response times from ``low`` to ``high`` microseconds."""

    low: int
    high: int
    events: int


class Histogram(NamedTuple):
    """The response times of a db_bench step, in microseconds."""

    events: int
    average: float
    least: int
    most: int
    buckets: tuple[Bucket, ...]

    def percentile(self, q: float) -> float:
        """Return the response time (us) that the share ``q`` of operations does not exceed.

        Times within a bucket are assumed to be evenly spread. The result lies between the shortest
        and the longest time.
        """
        wanted, before = q * self.events, 0
        for low, high, events in self.buckets:
            if before + events >= wanted:
                value = low + (high - low) * (wanted - before) / events
                return min(max(value, float(self.least)), float(self.most))
            before += events
        return float(self.most)

    def in_ms(self) -> tuple[tuple[float, int], ...]:
        """Return the buckets as (upper end in milliseconds, operations)."""
        return tuple((min(high, self.most) * _MS, events) for _, high, events in self.buckets)


class BenchmarkResult(NamedTuple):
    """The result of one benchmark of db_bench."""

    operations: int
    seconds: float
    histogram: Histogram
    reports: tuple[Report, ...]


def read_report(line: str) -> Report | None:
    """Parse an intermediate report on a line of output; None if the line is something else."""
    if not (found := _REPORT.match(line)):
        return None
    thread, operations, seconds = found.groups()
    return Report(int(thread), int(operations), float(seconds))


def read_result(text: str, benchmark: str) -> BenchmarkResult:
    """Parse the result of one db_bench benchmark. Raises ValueError if it is incomplete."""
    results = [match for match in _RESULT.finditer(text) if match["name"] == benchmark]
    if len(results) != 1:
        raise ValueError(
            f"db_bench printed {len(results) or 'no'} results of {benchmark}, but one is expected"
        )
    result = results[0]
    histogram = _histogram(text[result.end() :])
    # Before 7.0 it printed only the rate; the histogram counts every operation.
    operations = int(result["operations"] or histogram.events)
    rate = int(result["rate"])
    if rate == 0 or operations == 0:
        raise ValueError(f"db_bench completed no operation of {benchmark}")
    return BenchmarkResult(
        operations=operations,
        seconds=float(result["seconds"] or operations / rate),
        histogram=histogram,
        reports=tuple(filter(None, map(read_report, text.splitlines()))),
    )


def _histogram(text: str) -> Histogram:
    head = _HISTOGRAM.search(text)
    if head is None:
        raise ValueError("db_bench printed no histogram")
    buckets = tuple(_buckets(text[head.end() :].splitlines()))
    events = int(head["count"])
    if sum(bucket.events for bucket in buckets) != events:
        raise ValueError("db_bench's histogram is incomplete")
    return Histogram(
        events=events,
        average=float(head["average"]),
        least=int(head["min"]),
        most=int(head["max"]),
        buckets=buckets,
    )


def _buckets(lines: Iterable[str]) -> Sequence[Bucket]:
    """Return the buckets of the first histogram that db_bench prints."""
    buckets: list[Bucket] = []
    for line in lines:
        if found := _BUCKET.match(line.rstrip()):
            buckets.append(Bucket(*map(int, found.groups())))
        elif buckets:
            break
    return buckets
