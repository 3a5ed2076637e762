"""All metrics of a step: for each its unit, its good direction and its description."""

from __future__ import annotations

import math
from enum import StrEnum

from pipeline.model import Frozen, RegressionKind, Shift


class Direction(StrEnum):
    """Whether more or less of a metric is better."""

    MORE_IS_BETTER = "more is better"
    LESS_IS_BETTER = "less is better"


class Metric(Frozen):
    """A metric of every step, such as QPS or CPU per operation: its unit and its good direction."""

    name: str
    unit: str
    direction: Direction
    help: str


_MORE, _LESS = Direction.MORE_IS_BETTER, Direction.LESS_IS_BETTER

METRICS: dict[str, Metric] = {
    name: Metric(name=name, unit=unit, direction=direction, help=text)
    for name, unit, direction, text in (
        ("qps", "1/s", _MORE, "operations per second: queries, or rows for scans"),
        ("qps_cv", "ratio", _LESS, "coefficient of variation of the per-second throughput"),
        ("qps_p1", "1/s", _MORE, "1st percentile of the per-second throughput"),
        ("stall_s", "s", _LESS, "longest time below a tenth of the median throughput"),
        ("latency_avg", "ms", _LESS, "mean response time"),
        ("latency_p50", "ms", _LESS, "median response time"),
        ("latency_p95", "ms", _LESS, "95th percentile of the response time"),
        ("latency_p99", "ms", _LESS, "99th percentile of the response time"),
        ("latency_max", "ms", _LESS, "longest response time"),
        ("errors", "count", _LESS, "statements that failed and were tried again"),
        ("cpu/o", "%/(o/s)", _LESS, "host CPU, user + system percent, divided by o/s"),
        ("cpu_us/o", "us", _LESS, "CPU time of the server's processes per operation"),
        ("cs/o", "count", _LESS, "context switches of the host per operation"),
        ("server_cs/o", "count", _LESS, "context switches of the server per operation"),
        ("r/o", "count", _LESS, "reads from storage per operation"),
        ("rKB/o", "KB", _LESS, "kilobytes read from storage per operation"),
        ("w/o", "count", _LESS, "writes to storage per operation"),
        ("wKB/o", "KB", _LESS, "kilobytes written to storage per operation"),
        ("cpu/s", "%", _LESS, "host CPU, user + system percent"),
        ("cs/s", "1/s", _LESS, "context switches of the host per second"),
        ("r/s", "1/s", _LESS, "reads from storage per second"),
        ("rMB/s", "MB/s", _LESS, "megabytes read from storage per second"),
        ("w/s", "1/s", _LESS, "writes to storage per second"),
        ("wMB/s", "MB/s", _LESS, "megabytes written to storage per second"),
        ("steal", "%", _LESS, "CPU time that the hypervisor gave to other guests, percent of all"),
        ("rss", "bytes", _LESS, "resident memory of the server"),
        ("dbsize", "bytes", _LESS, "size of the database after the step"),
        ("cached", "ratio", _MORE, "part of the database that the machine's memory could hold"),
        # Background work of a step.
        ("inserts/s", "1/s", _MORE, "rows inserted per second beside the queries"),
        ("deletes/s", "1/s", _MORE, "rows deleted per second beside the queries"),
        ("inserts_target", "1/s", _MORE, "target rate of rows inserted per second"),
        ("deletes_target", "1/s", _MORE, "target rate of rows deleted per second"),
        ("inserts_p99", "ms", _LESS, "99th percentile of the response time of those inserts"),
        ("inserts_max", "ms", _LESS, "longest response time of those inserts"),
        ("deletes_p99", "ms", _LESS, "99th percentile of the response time of those deletes"),
        ("deletes_max", "ms", _LESS, "longest response time of those deletes"),
        (
            "sla",
            "ratio",
            _MORE,
            "rate of the background work over its target rate, the lowest of all",
        ),
        ("w/i", "count", _LESS, "writes to storage per row inserted beside the queries"),
        ("wKB/i", "KB", _LESS, "kilobytes written to storage per row inserted beside the queries"),
        # tproc-c.
        ("nopm", "1/min", _MORE, "new orders per minute (tproc-c)"),
        ("tpm", "1/min", _MORE, "transactions per minute (tproc-c)"),
        # RocksDB's compaction, with the names of its own benchmark scripts where they exist.
        ("w_amp", "ratio", _LESS, "bytes written by flushes and compaction per byte flushed"),
        ("flush_wgb", "GB", _LESS, "written by flushes"),
        ("ingest_gb", "GB", _MORE, "written by the clients"),
        ("c_wgb", "GB", _LESS, "written by flushes and compaction"),
        ("c_rgb", "GB", _LESS, "read by compaction"),
        ("c_mbps", "MB/s", _LESS, "written by flushes and compaction, per second"),
        ("c_wsecs", "s", _LESS, "time of all threads in flushes and compaction"),
        ("c_csecs", "s", _LESS, "CPU time of all threads in compaction"),
        ("c_pending_gb", "GB", _LESS, "bytes that compaction still has to rewrite at the end"),
        ("lsm_gb", "GB", _LESS, "size of all levels at the end"),
        ("stall%", "%", _LESS, "time in which writes were slowed or stopped"),
        ("Nstall", "count", _LESS, "times that writes were slowed or stopped"),
        # Over the time of a step.
        ("warming_s", "s", _LESS, "seconds until the throughput was steady"),
        ("drift", "ratio", _LESS, "relative change of the throughput through the step, unsigned"),
        ("oscillation", "ratio", _LESS, "amplitude of periodic swings over the mean throughput"),
        ("period_s", "s", _LESS, "period of the swings of the throughput"),
        # Further readings of the machine and its counters.
        ("client_us/o", "us", _LESS, "CPU time of the load generator per operation"),
        ("client_user_us/o", "us", _LESS, "user part of client_us/o: CPU time outside the kernel"),
        ("psi_cpu", "%", _LESS, "time in which some process waited for a processor"),
        ("psi_io", "%", _LESS, "time in which some process waited for storage"),
        ("psi_memory", "%", _LESS, "time in which some process waited for memory"),
        ("cycles/o", "count", _LESS, "processor cycles of the server per operation"),
        ("instructions/o", "count", _LESS, "instructions of the server per operation"),
        ("branches/o", "count", _LESS, "branches of the server per operation"),
        ("branch_misses/o", "count", _LESS, "mispredicted branches of the server per operation"),
        ("cache_misses/o", "count", _LESS, "last-level cache misses of the server per operation"),
        ("l1_misses/o", "count", _LESS, "misses of a simulated first-level cache per operation"),
        ("ll_misses/o", "count", _LESS, "misses of a simulated last-level cache per operation"),
        ("dtlb_misses/o", "count", _LESS, "data TLB misses of the server per operation"),
        ("itlb_misses/o", "count", _LESS, "instruction TLB misses of the server per operation"),
        ("page_faults/o", "count", _LESS, "page faults of the server per operation"),
        # Of imported results.
        ("time_us/o", "us", _LESS, "time of an operation, as another program measured it"),
        ("MB/s", "MB/s", _MORE, "megabytes that another program processed per second"),
        ("alloc_B/o", "bytes", _LESS, "memory allocated per operation"),
        ("allocs/o", "count", _LESS, "allocations per operation"),
        ("score", "", _MORE, "imported value in another unit; more is better"),
        ("cost", "", _LESS, "imported value in another unit; less is better"),
    )
}
"""All known metrics, by name. Imported tables may have others."""

_PLAIN_NAMES = {
    "qps": "throughput",
    "cpu_us/o": "CPU per operation",
    "instructions/o": "instructions per operation",
    "latency_avg": "mean response time",
    "latency_p50": "median response time",
    "latency_p95": "95th percentile of response time",
    "latency_p99": "99th percentile of response time",
    "latency_max": "longest response time",
    "nopm": "new orders per minute",
    "tpm": "transactions per minute",
    "rss": "resident memory",
    "dbsize": "size of the database",
}
"""Names of common metrics in sentences. The name of any other metric is the beginning of its
description."""

_SPEED = ("qps", "cpu", "instructions/o", "cycles/o", "latency_", "nopm", "tpm", "time_us/o")
"""Prefixes of the names of metrics that measure speed: changes of these metrics are called slower
or faster."""


def plain_name(metric: str) -> str:
    """Return the name of a metric for use in a sentence; its symbol if it has no description."""
    known = METRICS.get(metric)
    described = known.help.partition(":")[0] if known is not None else metric
    return _PLAIN_NAMES.get(metric, described)


def is_speed(metric: str) -> bool:
    """Return whether a metric measures speed, so that a change is called slower or faster."""
    return metric.startswith(_SPEED)


LEAST_CHANGE: dict[str, float] = {
    "stall_s": 1.0,
    "warming_s": 1.0,
    "drift": 0.02,
    "oscillation": 0.02,
    "qps_cv": 0.005,
    "errors": 1.0,
}
"""The smallest reported change of metrics that are normally zero, in their own unit, because any
change relative to zero is large. Smaller changes are below the precision of measurement: throughput
is reported once a second, and levels are known to a few percent."""


def change_in_unit(shift: Shift) -> str:
    """Format a change in the unit of its metric: ``+5 s``, ``-12 1/s``, ``+0.3``."""
    known = METRICS.get(shift.series.metric)
    unit = known.unit if known is not None and known.unit not in {"count", "ratio"} else ""
    return f"{shift.after - shift.before:+.3g} {unit}".rstrip()


def change(shift: Shift) -> str:
    """Format a change as a percentage of the level before, or in its unit if that was zero."""
    text = f"{shift.effect:+.1%}" if math.isfinite(shift.effect) else change_in_unit(shift)
    named = shift.kind in (RegressionKind.SPREAD, RegressionKind.CREEP)
    return f"{text} ({shift.kind.value})" if named else text


UNKNOWN_DIRECTION = Direction.MORE_IS_BETTER
"""The direction of imported metrics that are not in METRICS, which count as throughput."""


def is_worse(metric: str, effect: float) -> bool:
    """Return whether a relative change of a metric is in the bad direction."""
    known = METRICS.get(metric)
    direction = known.direction if known is not None else UNKNOWN_DIRECTION
    return effect < 0 if direction is Direction.MORE_IS_BETTER else effect > 0
