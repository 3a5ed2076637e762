"""Parse what sysbench prints about a step.

The scripts print lines that begin with ``nightshift`` (``lua/report.lua``) among sysbench's own.
Only these lines and sysbench's latency histogram are parsed. Throughput is computed from the events
and the statements of an event, because sysbench's query counters include the warm-up, and its event
counters do not.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Final

from pipeline.model import StepOutput, TimePoint
from pipeline.workloads.base.histogram import BUCKETS, Histogram, centre_ms, latencies, upper_ms
from pipeline.workloads.sysbench.catalogue import Microbenchmark

_NUMBER: Final = r"(-?\d+(?:\.\d+)?)"
_INTERVAL: Final = re.compile(
    rf"^nightshift interval t={_NUMBER} dt={_NUMBER} events=(\d+) lat_pct_ms={_NUMBER}\b.*\n",
    re.MULTILINE,
)
_WARMUP: Final = re.compile(r"^nightshift warmup thread=\d+ events=\d+ errors=(\d+) ", re.MULTILINE)
_TOTAL: Final = re.compile(
    rf"^nightshift total seconds={_NUMBER} events=(\d+) reads=\d+ writes=\d+ other=\d+"
    rf" errors=(\d+) reconnects=\d+ lat_min_ms=\S+ lat_avg_ms={_NUMBER}"
    rf" lat_max_ms={_NUMBER} lat_pct_ms=\S+\n",
    re.MULTILINE,
)
_BUCKET: Final = re.compile(r"^ +(\d+\.\d{3}) \|\**\s+(\d+)$", re.MULTILINE)
_FATAL: Final = re.compile(r"^FATAL: (.+)$", re.MULTILINE)


def parse_output(text: str, spec: Microbenchmark, table_size: int) -> StepOutput:
    """Parse the output of sysbench for one step.

    Latencies are those of events; a transaction is one event. Latencies in the timeline are at the
    percentile of sysbench's ``--percentile``. The timeline ends with the last full interval. Errors
    are events that the client had to repeat because of an error of the server, without those of the
    warm-up.

    Raises ValueError, with an error message, for incomplete output: sysbench failed or was killed,
    no event was completed, or lines are missing.
    """
    total = _TOTAL.search(text)
    if total is None:
        fatal = _FATAL.search(text)
        reason = f": {fatal[1].strip()}" if fatal else " or was killed: its output has no totals"
        raise ValueError(f"sysbench failed{reason}")
    seconds, events = float(total[1]), int(total[2])
    if events == 0 or seconds <= 0:
        raise ValueError(f"sysbench completed no event of {spec.name} in {seconds:g} s")
    histogram = _histogram(text)
    counted = sum(count for _, count in histogram)
    if counted != events:
        raise ValueError(
            f"sysbench's output is incomplete: {events} events, but {counted} in the latency "
            "histogram; it needs --histogram=on and a --percentile above 0"
        )
    per_event = spec.operations_per_event(table_size)
    return StepOutput(
        operations=float(events * per_event),
        seconds=seconds,
        timeline=tuple(
            TimePoint(
                at=float(at),
                ops_per_second=int(done) * per_event / float(length),
                latency_ms=float(latency),
            )
            for at, length, done, latency in _INTERVAL.findall(text)
            if float(length) > 0
        ),
        latency_ms=latencies(histogram, float(total[4]), float(total[5])),
        histogram=histogram,
        errors=int(total[3]) - sum(int(errors) for errors in _WARMUP.findall(text)),
    )


@cache
def _edges_by_label() -> dict[str, list[float]]:
    """Return the upper ends (ms) of histogram buckets by the labels that sysbench prints."""
    edges: dict[str, list[float]] = {}
    for bucket in range(BUCKETS):
        edges.setdefault(f"{centre_ms(bucket):.3f}", []).append(upper_ms(bucket))
    return edges


def _histogram(text: str) -> Histogram:
    """Return the buckets of sysbench's histogram with their upper ends (ms).

    sysbench prints the centre of a bucket with three decimals, so that several buckets below 0.03
    ms share a label. They are printed in order. If a label has as many lines as buckets, each
    line's bucket is known. If it has fewer (in the tails), the middle buckets are assumed; the
    error is smaller than the rounding of the label.
    """
    printed = _BUCKET.findall(text)
    uppers: list[float] = []
    for label, lines in Counter(label for label, _ in printed).items():
        edges = _edges_by_label().get(label, [])
        if lines > len(edges):
            raise ValueError(
                f"sysbench's output is invalid: it has {lines} histogram lines for {label} ms, "
                "more than there are buckets"
            )
        first = (len(edges) - lines) // 2
        uppers += edges[first : first + lines]
    return tuple(zip(uppers, (int(count) for _, count in printed), strict=True))
