"""The names and units of published time series.

A figure of a step is published under up to three names with the same ending. ``nightshift_run_*``
has one value per run at the time of the run. ``nightshift_revision_*`` has the median over the runs
of a revision, at the time when the revision was made. ``nightshift_version_*``, for a few metrics,
has the same values with the revision as a label, so that versions can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pipeline.model import Frozen

PREFIX = "nightshift_"

SERIES_LABELS = (
    "line",
    "target",
    "config",
    "build_options",
    "machine_class",
    "workload",
    "workload_version",
    "clients",
    "step",
    "group",
    "mode",
)
"""The labels of every figure of a step. They are constant along a series of the store. ``mode`` is
``count`` for counted steps, and missing for timed ones."""

RUN, REVISION, VERSION = "run", "revision", "version"
"""The views of the metrics; each is also the prefix of the published names in this view."""


class PublishedMetric(NamedTuple):
    """How a metric is published: its name and its unit.

    ``name`` is the common end of its published names. ``factor`` converts values to the base unit
    in the name. ``labels`` distinguish it from other metrics with the same name.
    """

    name: str
    factor: float = 1.0
    labels: Mapping[str, str] = {}


_KILO = 1024.0
_MEGA, _GIGA = _KILO**2, _KILO**3
_PERCENT, _MILLI, _MICRO, _MINUTE = 1e-2, 1e-3, 1e-6, 60.0


def _latency(name: str = "latency_seconds", **labels: str) -> PublishedMetric:
    return PublishedMetric(name, _MILLI, labels)


def _pressure(resource: str) -> PublishedMetric:
    return PublishedMetric("pressure_ratio", _PERCENT, {"resource": resource})


def _event(event: str) -> PublishedMetric:
    return PublishedMetric("processor_events_per_operation", 1.0, {"event": event})


FIGURES: Mapping[str, PublishedMetric] = {
    "qps": PublishedMetric("operations_per_second"),
    "qps_cv": PublishedMetric("throughput_variation_ratio"),
    "qps_p1": PublishedMetric("throughput_p1_operations_per_second"),
    "stall_s": PublishedMetric("stall_seconds"),
    "latency_avg": _latency(stat="mean"),
    "latency_p50": _latency(stat="p50"),
    "latency_p95": _latency(stat="p95"),
    "latency_p99": _latency(stat="p99"),
    "latency_max": _latency(stat="max"),
    "errors": PublishedMetric("errors"),
    "cpu/o": PublishedMetric("host_busy_seconds_per_operation", _PERCENT),
    "cpu_us/o": PublishedMetric("server_cpu_seconds_per_operation", _MICRO),
    "cs/o": PublishedMetric("host_context_switches_per_operation"),
    "server_cs/o": PublishedMetric("server_context_switches_per_operation"),
    "r/o": PublishedMetric("storage_reads_per_operation"),
    "rKB/o": PublishedMetric("storage_read_bytes_per_operation", _KILO),
    "w/o": PublishedMetric("storage_writes_per_operation"),
    "wKB/o": PublishedMetric("storage_written_bytes_per_operation", _KILO),
    "cpu/s": PublishedMetric("host_busy_ratio", _PERCENT),
    "cs/s": PublishedMetric("host_context_switches_per_second"),
    "r/s": PublishedMetric("storage_reads_per_second"),
    "rMB/s": PublishedMetric("storage_read_bytes_per_second", _MEGA),
    "w/s": PublishedMetric("storage_writes_per_second"),
    "wMB/s": PublishedMetric("storage_written_bytes_per_second", _MEGA),
    "steal": PublishedMetric("steal_ratio", _PERCENT),
    "rss": PublishedMetric("server_memory_bytes"),
    "dbsize": PublishedMetric("database_bytes"),
    "cached": PublishedMetric("cached_ratio"),
    "inserts/s": PublishedMetric("background_rows_per_second", 1.0, {"work": "inserts"}),
    "deletes/s": PublishedMetric("background_rows_per_second", 1.0, {"work": "deletes"}),
    "inserts_target": PublishedMetric(
        "background_wanted_rows_per_second", 1.0, {"work": "inserts"}
    ),
    "deletes_target": PublishedMetric(
        "background_wanted_rows_per_second", 1.0, {"work": "deletes"}
    ),
    "inserts_p99": _latency("background_latency_seconds", work="inserts", stat="p99"),
    "inserts_max": _latency("background_latency_seconds", work="inserts", stat="max"),
    "deletes_p99": _latency("background_latency_seconds", work="deletes", stat="p99"),
    "deletes_max": _latency("background_latency_seconds", work="deletes", stat="max"),
    "sla": PublishedMetric("sla_ratio"),
    "w/i": PublishedMetric("storage_writes_per_insert"),
    "wKB/i": PublishedMetric("storage_written_bytes_per_insert", _KILO),
    "nopm": PublishedMetric("new_orders_per_second", 1 / _MINUTE),
    "tpm": PublishedMetric("transactions_per_second", 1 / _MINUTE),
    "w_amp": PublishedMetric("write_amplification_ratio"),
    "flush_wgb": PublishedMetric("flush_written_bytes", _GIGA),
    "ingest_gb": PublishedMetric("ingested_bytes", _GIGA),
    "c_wgb": PublishedMetric("compaction_written_bytes", _GIGA),
    "c_rgb": PublishedMetric("compaction_read_bytes", _GIGA),
    "c_mbps": PublishedMetric("compaction_written_bytes_per_second", _MEGA),
    "c_wsecs": PublishedMetric("compaction_seconds"),
    "c_csecs": PublishedMetric("compaction_cpu_seconds"),
    "c_pending_gb": PublishedMetric("compaction_pending_bytes", _GIGA),
    "lsm_gb": PublishedMetric("lsm_bytes", _GIGA),
    "stall%": PublishedMetric("write_stall_ratio", _PERCENT),
    "Nstall": PublishedMetric("write_stalls"),
    "warming_s": PublishedMetric("warming_seconds"),
    "drift": PublishedMetric("drift_ratio"),
    "oscillation": PublishedMetric("oscillation_ratio"),
    "period_s": PublishedMetric("oscillation_period_seconds"),
    "client_us/o": PublishedMetric("client_cpu_seconds_per_operation", _MICRO),
    "client_user_us/o": PublishedMetric("client_user_cpu_seconds_per_operation", _MICRO),
    "psi_cpu": _pressure("cpu"),
    "psi_io": _pressure("io"),
    "psi_memory": _pressure("memory"),
    "cycles/o": _event("cycles"),
    "instructions/o": _event("instructions"),
    "branches/o": _event("branches"),
    "branch_misses/o": _event("branch_misses"),
    "cache_misses/o": _event("cache_misses"),
    "l1_misses/o": _event("l1_misses"),
    "ll_misses/o": _event("ll_misses"),
    "dtlb_misses/o": _event("dtlb_misses"),
    "itlb_misses/o": _event("itlb_misses"),
    "page_faults/o": _event("page_faults"),
    "time_us/o": PublishedMetric("operation_seconds", _MICRO),
    "MB/s": PublishedMetric("processed_bytes_per_second", _MEGA),
    "alloc_B/o": PublishedMetric("allocated_bytes_per_operation"),
    "allocs/o": PublishedMetric("allocations_per_operation"),
    "score": PublishedMetric("score"),
    "cost": PublishedMetric("cost"),
}
"""Every published metric of the store. Imported tables may have others, which are not published."""

COMPARED = ("qps", "nopm", "cpu_us/o", "server_cs/o", "latency_p95", "sla", "instructions/o")
"""The metrics also published with the revision as a label; each adds a series per revision."""

RELATIVE = "relative_throughput_ratio"
"""rQPS: throughput divided by that of the line's first revision with this series. The label
``stat`` is ``median`` and, if both revisions have several runs, also ``low`` and ``high``."""


class Other(Frozen):
    """A published time series that is not a metric of a step."""

    name: str
    labels: tuple[str, ...]
    help: str


OTHERS: Mapping[str, Other] = {
    name: Other(name=f"{PREFIX}{name}", labels=labels, help=text)
    for name, labels, text in (
        # Revisions.
        (
            f"{REVISION}_{RELATIVE}",
            (*SERIES_LABELS, "stat"),
            "rQPS at the time of the revision: relative to the first revision of the line",
        ),
        (
            "first_operations_per_second",
            SERIES_LABELS,
            "throughput of the first revision of the line, at the last run of the newest one",
        ),
        (
            "newest_operations_per_second",
            SERIES_LABELS,
            "throughput of the newest measured revision of the line, at its last run",
        ),
        (
            "version_position",
            ("line", "target", "revision"),
            "position of the revision on its line, from 0",
        ),
        (
            "version_timestamp_seconds",
            ("line", "target", "revision"),
            "date of the revision; missing if unknown",
        ),
        # Runs.
        (
            "activity",
            (*SERIES_LABELS, "activity"),
            "activity of the DBMS: mean over the step, at the start of the run; the name of the "
            "activity ends with its unit, as in `wal_bytes/s`",
        ),
        # Changes. `metric` is the store's name.
        (
            "run_change_point_effect_ratio",
            (*SERIES_LABELS, "metric", "kind", "worse", "fingerprint"),
            "relative change of the level, at the time of the first run of the first bad revision; "
            "0 for a change point that is no longer found",
        ),
        (
            "revision_change_point_effect_ratio",
            (*SERIES_LABELS, "metric", "kind", "worse", "fingerprint"),
            "the same at the time of the first bad revision",
        ),
        (
            "regression_state",
            (
                "fingerprint",
                "line",
                "target",
                "kind",
                "worse",
                "last_good",
                "first_bad",
                "state",
            ),
            "1 for the present state of a regression or an improvement, 0 for the others, at the "
            "time of every decision",
        ),
        (
            "regression_effect_ratio",
            ("fingerprint", "line", "target", "kind", "worse", "last_good", "first_bad"),
            "largest relative change of the regression, at the time when it was found",
        ),
        # Machines.
        (
            "machine_info",
            ("machine_class", "hostname", "cpu_model", "kernel", "operating_system"),
            "1 for the machine of a run, at the time of every run",
        ),
        (
            "control_drift_ratio",
            (
                "line",
                "target",
                "machine_class",
                "workload",
                "workload_version",
                "clients",
                "step",
                "metric",
            ),
            "relative difference between a build and itself, at the time of the control's last run",
        ),
        # The pipeline, at the end of a night. `pipeline` is its name in the configuration.
        ("night_timestamp_seconds", ("pipeline",), "end of the night"),
        ("night_duration_seconds", ("pipeline",), "duration of the night"),
        ("night_stage_seconds", ("pipeline", "stage"), "duration of each stage of the night"),
        ("night_success", ("pipeline",), "1, or 0 for a night that ended with an error"),
        (
            "night_preflight",
            ("pipeline", "check"),
            "1 for each failed check of the machine before the night",
        ),
        ("night_runs", ("pipeline",), "measured runs"),
        ("night_failed_steps", ("pipeline",), "failed steps of those runs"),
        ("night_unbuilt", ("pipeline",), "revisions of the plan without a build"),
        ("night_queue_runs", ("pipeline",), "runs of the plan that are left"),
        ("night_series", ("pipeline",), "series searched for changes"),
        (
            "night_regressions",
            ("pipeline", "state"),
            "regressions by state, at the end of the night",
        ),
        (
            "night_spent_seconds",
            ("pipeline", "on"),
            "machine time of runs, confirm and bisect in the night",
        ),
        (
            "night_budget_seconds",
            ("pipeline", "on"),
            "budget of machine time for confirm and for bisect",
        ),
        (
            "spent_seconds",
            ("pipeline", "on"),
            "machine time since the beginning, as in the ledger",
        ),
        (
            "spent_money",
            ("pipeline", "currency"),
            "cost of that time at this machine's price per hour",
        ),
        ("alarms", ("pipeline", "verdict"), "alarms since the beginning, by outcome"),
        # Publishing, and servers.
        ("publish_timestamp_seconds", ("pipeline",), "time of the last publishing"),
        (
            "publish_refused_samples",
            ("pipeline",),
            "samples that the receiver refused since the beginning",
        ),
        ("reap_timestamp_seconds", ("pipeline",), "time of the last complete reaping on the hub"),
        (
            "server_expires_timestamp_seconds",
            ("server", "type", "location"),
            "end of a bench server's time to live",
        ),
    )
}
"""Every other published metric, by its name without the prefix."""


def full_name(view: str, figure: PublishedMetric) -> str:
    """Return the full published name of a metric."""
    return f"{PREFIX}{view}_{figure.name}"
