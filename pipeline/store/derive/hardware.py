"""What the machine did for each operation of a step, from what the probes read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.model import Sample

_KILO = 1024.0
"""Bytes of a kilobyte, kilobytes of a megabyte: as iostat prints them, so as published."""

_RATES = (
    ("cs/s", "host.cs", 1.0),
    ("r/s", "disk.reads", 1.0),
    ("w/s", "disk.writes", 1.0),
    ("rMB/s", "disk.read_bytes", 1 / _KILO**2),
    ("wMB/s", "disk.write_bytes", 1 / _KILO**2),
    # Microseconds of a second, in percent.
    ("psi_cpu", "psi.cpu", 1e-4),
    ("psi_io", "psi.io", 1e-4),
    ("psi_memory", "psi.memory", 1e-4),
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

_PER_INSERT = (("w/i", "w/s", 1.0), ("wKB/i", "wMB/s", _KILO))
"""Rates over the rows inserted in the background: metric, the rate, what it is multiplied with."""

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
"""Counters of server and client over the throughput: metric, the counter."""


def hardware(
    samples: Sequence[Sample], throughput: float, inserts: float = 0.0
) -> dict[str, float]:
    """Return rates, and rates over the throughput, from the first and the last sample.

    ``inserts`` are the rows inserted per second beside what is measured; what is written belongs
    to them.
    """
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
            for name, counter in _COUNTED_PER_OPERATION
            if counter in grown
        }
    if inserts > 0:
        values |= {
            name: values[rate] * scale / inserts
            for name, rate, scale in _PER_INSERT
            if rate in values
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
