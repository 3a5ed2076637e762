"""The hardware resources that a step used per operation, from the samples of the probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.model import ProbeSample, StepOutput

_KILO = 1024.0
"""Bytes in a kilobyte, and kilobytes in a megabyte, as in iostat and the published reports."""

_RATES = (
    ("cs/s", "host.cs", 1.0),
    ("r/s", "disk.reads", 1.0),
    ("w/s", "disk.writes", 1.0),
    ("rMB/s", "disk.read_bytes", 1 / _KILO**2),
    ("wMB/s", "disk.write_bytes", 1 / _KILO**2),
    # Microseconds per second, in percent.
    ("psi_cpu", "psi.cpu", 1e-4),
    ("psi_io", "psi.io", 1e-4),
    ("psi_memory", "psi.memory", 1e-4),
)
"""Metrics of the host per second: (metric, counter, factor). The metric is the counter's growth per
second, multiplied by the factor."""

_PER_OPERATION = (
    ("cpu/o", "cpu/s", 1.0),
    ("cs/o", "cs/s", 1.0),
    ("r/o", "r/s", 1.0),
    ("w/o", "w/s", 1.0),
    ("rKB/o", "rMB/s", _KILO),
    ("wKB/o", "wMB/s", _KILO),
)
"""Metrics per operation: (metric, rate, factor). The metric is the rate divided by the throughput,
multiplied by the factor."""

_PER_INSERT = (("w/i", "w/s", 1.0), ("wKB/i", "wMB/s", _KILO))
"""Metrics per row inserted in the background: (metric, rate, factor). The metric is the rate
divided by the inserted rows per second, multiplied by the factor."""

_COUNTED_PER_OPERATION = (
    ("cpu_us/o", "server.cpu_us"),
    ("server_cs/o", "server.cs"),
    ("client_us/o", "client.cpu_us"),
    ("client_user_us/o", "client.user_us"),
    ("cycles/o", "perf.cycles"),
    ("instructions/o", "perf.instructions"),
    ("branches/o", "perf.branches"),
    ("branch_misses/o", "perf.branch_misses"),
    ("cache_misses/o", "perf.cache_misses"),
    ("dtlb_misses/o", "perf.dtlb_misses"),
    ("itlb_misses/o", "perf.itlb_misses"),
    ("page_faults/o", "perf.page_faults"),
)
"""Metrics per operation of server and client: (metric, counter). The metric is the counter's growth
per second, divided by the throughput."""


_COVERED = 0.8
"""The share of the sampled time that the first and the last value of a counter must span. With this
share, the counter may be missing in one sample of a step of five seconds."""

_SERVER_MEMORY = "server.rss"


def hardware(
    samples: Sequence[ProbeSample], throughput: float, inserts: float = 0.0
) -> dict[str, float]:
    """Return the step's use of CPU, memory and disks, per second and per operation.

    ``inserts`` is the number of rows inserted per second in the background. If there are any,
    writes are also returned per inserted row.
    """
    if len(samples) < 2:
        return {}
    rates = _rates(samples)
    values = _processor(rates) | {
        name: rates[counter] * scale for name, counter, scale in _RATES if counter in rates
    }
    if throughput > 0:
        values |= {
            name: values[rate] * scale / throughput
            for name, rate, scale in _PER_OPERATION
            if rate in values
        }
        values |= {
            name: rates[counter] / throughput
            for name, counter in _COUNTED_PER_OPERATION
            if counter in rates
        }
    if inserts > 0:
        values |= {
            name: values[rate] * scale / inserts
            for name, rate, scale in _PER_INSERT
            if rate in values
        }
    resident = [
        sample.values[_SERVER_MEMORY] for sample in samples if _SERVER_MEMORY in sample.values
    ]
    if resident:
        values["rss"] = max(resident)
    return values


def missing_cpu_time(
    output: StepOutput, samples: Sequence[ProbeSample], values: Mapping[str, float]
) -> tuple[str, ...]:
    """Return a warning if the server's CPU time is unknown although it was sampled.

    There is no warning for a step that ended before the second sample: it is too short for any
    metric of the hardware.
    """
    watched = any(_SERVER_MEMORY in sample.values for sample in samples)
    if len(samples) < 2 or not watched or output.operations <= 0 or "cpu_us/o" in values:
        return ()
    return (
        "no CPU time per operation: for most of the step the processor time of the server's "
        "processes could not be sampled",
    )


def _rates(samples: Sequence[ProbeSample]) -> dict[str, float]:
    """Return the mean growth per second of each counter, from its first to its last sample.

    A counter is left out if these two samples span too little of the step, or if its value
    decreased, which means that it was reset.
    """
    points: dict[str, list[tuple[float, float]]] = {}
    for at, values in samples:
        for name, value in values.items():
            # Older probes repeat the last counters of ended processes, with no memory.
            if values.get(f"{name.partition('.')[0]}.rss") != 0:
                points.setdefault(name, []).append((at, value))
    least = _COVERED * (samples[-1].at - samples[0].at)
    rates = {}
    for name, found in points.items():
        (began, before), (ended, after) = found[0], found[-1]
        if ended > began and ended - began >= least and after >= before:
            rates[name] = (after - before) / (ended - began)
    return rates


def _processor(rates: Mapping[str, float]) -> dict[str, float]:
    """Return how the time of all processors was used: metrics in percent, by name."""
    total = rates.get("host.total", 0.0)
    values: dict[str, float] = {}
    if total > 0 and "host.user" in rates and "host.system" in rates:
        values["cpu/s"] = 100.0 * (rates["host.user"] + rates["host.system"]) / total
    if total > 0 and "host.steal" in rates:
        values["steal"] = 100.0 * rates["host.steal"] / total
    return values
