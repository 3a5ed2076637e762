"""What sysbench printed, as figures.

The scripts print lines that begin with ``nightshift`` (``lua/report.lua``) among sysbench's
own; only those and sysbench's latency histogram are read. Throughput comes from events and
the statements of an event: sysbench's query counters hold the warm-up, its events do not.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Final

from pipeline.workloads.base.histogram import BUCKETS, Histogram, centre_ms, upper_ms
from pipeline.workloads.sysbench.catalogue import StepSpec

_NUMBER: Final = r"(-?\d+(?:\.\d+)?)"
_INTERVAL: Final = re.compile(
    rf"^nightshift interval t={_NUMBER} dt={_NUMBER} events=(\d+) lat_pct_ms={_NUMBER}\b.*\n",
    re.MULTILINE,
)
_WARMUP: Final = re.compile(r"^nightshift warmup thread=\d+ events=\d+ errors=(\d+) ", re.MULTILINE)
_TOTAL: Final = re.compile(
    rf"^nightshift total seconds={_NUMBER} events=(\d+) reads=\d+ writes=\d+ other=\d+"
    rf" errors=(\d+) reconnects=\d+ lat_min_ms={_NUMBER} lat_avg_ms={_NUMBER}"
    rf" lat_max_ms={_NUMBER} lat_pct_ms={_NUMBER}\n",
    re.MULTILINE,
)
_BUCKET: Final = re.compile(r"^ +(\d+\.\d{3}) \|\**\s+(\d+)$", re.MULTILINE)
_FATAL: Final = re.compile(r"^FATAL: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class StepOutput:
    """What one run of a step yielded.

    Attributes:
        operations: queries or rows, by the step's unit, in the measured time.
        seconds: the measured time, until the last thread had ended.
        timeline: (seconds since the start, operations per second since the entry before,
            latency in milliseconds at sysbench's ``--percentile``), one for each interval.
            The rest of the time after the last full interval is not in it.
        histogram: latencies of events (a transaction is one event).
        latency_min_ms: of events, as are the mean and the maximum.
        errors: events that the server made the client repeat, warm-up excluded.
    """

    operations: float
    seconds: float
    timeline: tuple[tuple[float, float, float], ...]
    histogram: Histogram
    latency_min_ms: float
    latency_avg_ms: float
    latency_max_ms: float
    errors: int

    @property
    def ops_per_second(self) -> float:
        """Throughput in the step's unit."""
        return self.operations / self.seconds


def parse_output(text: str, spec: StepSpec, table_size: int) -> StepOutput:
    """Read the standard output of one run of ``spec`` on tables of ``table_size`` rows.

    Raises ValueError, in one sentence, for output that is not whole: sysbench failed or was
    killed, no event ended, or lines are missing.
    """
    total = _TOTAL.search(text)
    if total is None:
        fatal = _FATAL.search(text)
        reason = f": {fatal[1].strip()}" if fatal else " or was killed: its output has no totals"
        raise ValueError(f"sysbench failed{reason}")
    seconds, events = float(total[1]), int(total[2])
    if events == 0 or seconds <= 0:
        raise ValueError(f"sysbench ended no event of {spec.name} in {seconds:g} s")
    histogram = _histogram(text)
    counted = sum(count for _, count in histogram)
    if counted != events:
        raise ValueError(
            f"sysbench's output is not whole: {events} events, but {counted} in the latency"
            " histogram; it needs --histogram=on and a --percentile above 0"
        )
    per_event = spec.operations_per_event(table_size)
    return StepOutput(
        operations=float(events * per_event),
        seconds=seconds,
        timeline=tuple(
            (float(at), int(done) * per_event / float(length), float(latency))
            for at, length, done, latency in _INTERVAL.findall(text)
            if float(length) > 0
        ),
        histogram=histogram,
        latency_min_ms=float(total[4]),
        latency_avg_ms=float(total[5]),
        latency_max_ms=float(total[6]),
        errors=int(total[3]) - sum(int(errors) for errors in _WARMUP.findall(text)),
    )


@cache
def _edges_by_label() -> dict[str, list[float]]:
    """Return the upper edges, in ms, of the buckets that sysbench prints with each label."""
    edges: dict[str, list[float]] = {}
    for bucket in range(BUCKETS):
        edges.setdefault(f"{centre_ms(bucket):.3f}", []).append(upper_ms(bucket))
    return edges


def _histogram(text: str) -> Histogram:
    """Return the buckets of sysbench's histogram with their upper edges.

    sysbench prints the centre of a bucket with three decimals only, so that below 0.03 ms
    several buckets have the same label. They are printed in order: where as many lines as
    buckets have a label, each line's bucket is known; where fewer have it (in the tails),
    the middle ones are taken, which is off by less than the label's own rounding.
    """
    printed = _BUCKET.findall(text)
    uppers: list[float] = []
    for label, lines in Counter(label for label, _ in printed).items():
        edges = _edges_by_label().get(label, [])
        if lines > len(edges):
            raise ValueError(f"sysbench has no {lines} histogram buckets at {label} ms")
        first = (len(edges) - lines) // 2
        uppers += edges[first : first + lines]
    return tuple(zip(uppers, (int(count) for _, count in printed), strict=True))
