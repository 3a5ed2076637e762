"""From what a step printed and what the probes read, to its measurements.

Pure functions. The definitions are those of the Small Datum reports; see docs/metrics.md.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence

from pipeline.model import Sample, StepOutput, TimePoint

SHORTEST_TIMELINE = 10
"""Seconds of throughput below which its variance says more of the clock than of the DBMS."""

STALL = 0.1
"""A second whose throughput is below this part of the median counts as stalled."""

_KILO = 1024.0
"""Bytes of a kilobyte, kilobytes of a megabyte: as iostat prints them, so as published."""

_RATES = (
    ("cs/s", "host.cs", 1.0),
    ("r/s", "disk.reads", 1.0),
    ("w/s", "disk.writes", 1.0),
    ("rMB/s", "disk.read_bytes", 1 / _KILO**2),
    ("wMB/s", "disk.write_bytes", 1 / _KILO**2),
)
"""Rates of the host: metric, the counter it is of, what its growth is multiplied with."""

_PER_OPERATION = (
    ("cpu/o", "cpu/s", 1.0),
    ("cs/o", "cs/s", 1.0),
    ("r/o", "r/s", 1.0),
    ("w/o", "w/s", 1.0),
    ("rKB/o", "rMB/s", _KILO),
    ("wKB/o", "wMB/s", _KILO),
)
"""Rates over the throughput: metric, the rate, what it is multiplied with."""

_SERVER_PER_OPERATION = (("cpu_us/o", "server.cpu_us"), ("server_cs/o", "server.cs"))
"""Counters of the server over the throughput: metric, the counter."""


def measurements(
    output: StepOutput, samples: Sequence[Sample], database_bytes: int | None = None
) -> dict[str, float]:
    """Return every metric of a step that its output and samples allow, by name."""
    throughput = output.operations / output.seconds if output.seconds > 0 else 0.0
    values = {"qps": throughput, "errors": float(output.errors)}
    values |= {f"latency_{name}": value for name, value in output.latency_ms.items()}
    values |= _variance(output.timeline)
    values |= _hardware(samples, throughput)
    if database_bytes is not None:
        values["dbsize"] = float(database_bytes)
    return values


def _variance(timeline: Sequence[TimePoint]) -> dict[str, float]:
    rates = [point.ops_per_second for point in timeline]
    if len(rates) < SHORTEST_TIMELINE:
        return {}
    mean, median = statistics.fmean(rates), statistics.median(rates)
    if mean <= 0:
        return {}
    spacing = [b.at - a.at for a, b in itertools.pairwise(timeline)]
    longest, current = 0.0, 0.0
    for rate, seconds in zip(rates, [spacing[0], *spacing], strict=True):
        # Where most seconds stand still, the median is zero and nothing is below it.
        stalled = rate < STALL * median or rate == 0
        current = current + seconds if stalled else 0.0
        longest = max(longest, current)
    # Not statistics.stdev: its exact fractions take a hundred times as long.
    variance = sum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1)
    return {
        "qps_cv": math.sqrt(variance) / mean,
        "qps_p1": _quantile(sorted(rates), 0.01),
        "stall_s": longest,
    }


def _quantile(ordered: Sequence[float], q: float) -> float:
    """Return a quantile of ascending values, interpolated linearly between two of them."""
    below, share = divmod(q * (len(ordered) - 1), 1.0)
    at = int(below)
    return ordered[at] + share * (ordered[min(at + 1, len(ordered) - 1)] - ordered[at])


def _hardware(samples: Sequence[Sample], throughput: float) -> dict[str, float]:
    if len(samples) < 2:
        return {}
    first, last = samples[0], samples[-1]
    seconds = last.at - first.at
    if seconds <= 0:
        return {}
    # A counter that went back was reset and says nothing.
    grown = {
        name: value - first.values[name]
        for name, value in last.values.items()
        if name in first.values and value >= first.values[name]
    }
    values = _processor(grown) | {
        name: grown[counter] * scale / seconds
        for name, counter, scale in _RATES
        if counter in grown
    }
    if throughput > 0:
        values |= {
            name: values[rate] * scale / throughput
            for name, rate, scale in _PER_OPERATION
            if rate in values
        }
        values |= {
            name: grown[counter] / seconds / throughput
            for name, counter in _SERVER_PER_OPERATION
            if counter in grown
        }
    resident = [sample.values["server.rss"] for sample in samples if "server.rss" in sample.values]
    if resident:
        values["rss"] = max(resident)
    return values


def _processor(grown: Mapping[str, float]) -> dict[str, float]:
    """Return the percentages of the time of all processors together."""
    total = grown.get("host.total", 0.0)
    values: dict[str, float] = {}
    if total > 0 and "host.user" in grown and "host.system" in grown:
        values["cpu/s"] = 100.0 * (grown["host.user"] + grown["host.system"]) / total
    if total > 0 and "host.steal" in grown:
        values["steal"] = 100.0 * grown["host.steal"] / total
    return values
