"""Every figure that is kept of a step: its unit, its good direction, what it is."""

from __future__ import annotations

from enum import StrEnum

from pipeline.model import Frozen


class Direction(StrEnum):
    """Which way of a metric is good."""

    MORE_IS_BETTER = "more is better"
    LESS_IS_BETTER = "less is better"


class Metric(Frozen):
    """A figure that is kept of every step, with its unit and its good direction."""

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
        ("steal", "%", _LESS, "CPU time the hypervisor gave to others, percent of all"),
        ("rss", "bytes", _LESS, "resident memory of the server"),
        ("dbsize", "bytes", _LESS, "size of the database after the step"),
        ("nopm", "1/min", _MORE, "new orders per minute (tproc-c)"),
    )
}
"""Every metric known, by name. Imported tables may bring others."""
