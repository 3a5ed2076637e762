"""What is published, under which names: base units, as Prometheus wants them, and bounded labels.

A figure of a step is published under up to three names, which end alike: ``nightshift_run_*`` is
one value for each run at the time of the run, ``nightshift_revision_*`` the median over the runs of
a revision at the time when the revision was made, and ``nightshift_version_*``, of a few, the same
with the revision as a label, so that versions can be set against each other.
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
)
"""The labels of every figure of a step. Along a series of the store all of them are fixed."""

RUN, REVISION, VERSION = "run", "revision", "version"
"""The views, and the words that their names begin with."""


class Figure(NamedTuple):
    """How a metric of the store is published.

    ``name`` is the end of the names, ``factor`` what its values are multiplied with to be in the
    base unit that the name ends with, ``labels`` what tells it from others of the same name.
    """

    name: str
    factor: float = 1.0
    labels: Mapping[str, str] = {}


_KILO = 1024.0
_MEGA, _GIGA = _KILO**2, _KILO**3
_PERCENT, _MILLI, _MICRO, _MINUTE = 1e-2, 1e-3, 1e-6, 60.0


def _latency(name: str = "latency_seconds", **labels: str) -> Figure:
    return Figure(name, _MILLI, labels)


def _pressure(resource: str) -> Figure:
    return Figure("pressure_ratio", _PERCENT, {"resource": resource})


def _event(event: str) -> Figure:
    return Figure("processor_events_per_operation", 1.0, {"event": event})


FIGURES: Mapping[str, Figure] = {
    "qps": Figure("operations_per_second"),
    "qps_cv": Figure("throughput_variation_ratio"),
    "qps_p1": Figure("throughput_p1_operations_per_second"),
    "stall_s": Figure("stall_seconds"),
    "latency_avg": _latency(stat="mean"),
    "latency_p50": _latency(stat="p50"),
    "latency_p95": _latency(stat="p95"),
    "latency_p99": _latency(stat="p99"),
    "latency_max": _latency(stat="max"),
    "errors": Figure("errors"),
    "cpu/o": Figure("host_busy_seconds_per_operation", _PERCENT),
    "cpu_us/o": Figure("server_cpu_seconds_per_operation", _MICRO),
    "cs/o": Figure("host_context_switches_per_operation"),
    "server_cs/o": Figure("server_context_switches_per_operation"),
    "r/o": Figure("storage_reads_per_operation"),
    "rKB/o": Figure("storage_read_bytes_per_operation", _KILO),
    "w/o": Figure("storage_writes_per_operation"),
    "wKB/o": Figure("storage_written_bytes_per_operation", _KILO),
    "cpu/s": Figure("host_busy_ratio", _PERCENT),
    "cs/s": Figure("host_context_switches_per_second"),
    "r/s": Figure("storage_reads_per_second"),
    "rMB/s": Figure("storage_read_bytes_per_second", _MEGA),
    "w/s": Figure("storage_writes_per_second"),
    "wMB/s": Figure("storage_written_bytes_per_second", _MEGA),
    "steal": Figure("steal_ratio", _PERCENT),
    "rss": Figure("server_memory_bytes"),
    "dbsize": Figure("database_bytes"),
    "cached": Figure("cached_ratio"),
    "inserts/s": Figure("background_rows_per_second", 1.0, {"work": "inserts"}),
    "deletes/s": Figure("background_rows_per_second", 1.0, {"work": "deletes"}),
    "inserts_target": Figure("background_wanted_rows_per_second", 1.0, {"work": "inserts"}),
    "deletes_target": Figure("background_wanted_rows_per_second", 1.0, {"work": "deletes"}),
    "inserts_p99": _latency("background_latency_seconds", work="inserts", stat="p99"),
    "inserts_max": _latency("background_latency_seconds", work="inserts", stat="max"),
    "deletes_p99": _latency("background_latency_seconds", work="deletes", stat="p99"),
    "deletes_max": _latency("background_latency_seconds", work="deletes", stat="max"),
    "sla": Figure("sla_ratio"),
    "w/i": Figure("storage_writes_per_insert"),
    "wKB/i": Figure("storage_written_bytes_per_insert", _KILO),
    "nopm": Figure("new_orders_per_second", 1 / _MINUTE),
    "tpm": Figure("transactions_per_second", 1 / _MINUTE),
    "w_amp": Figure("write_amplification_ratio"),
    "flush_wgb": Figure("flush_written_bytes", _GIGA),
    "ingest_gb": Figure("ingested_bytes", _GIGA),
    "c_wgb": Figure("compaction_written_bytes", _GIGA),
    "c_rgb": Figure("compaction_read_bytes", _GIGA),
    "c_mbps": Figure("compaction_written_bytes_per_second", _MEGA),
    "c_wsecs": Figure("compaction_seconds"),
    "c_csecs": Figure("compaction_cpu_seconds"),
    "c_pending_gb": Figure("compaction_pending_bytes", _GIGA),
    "lsm_gb": Figure("lsm_bytes", _GIGA),
    "stall%": Figure("write_stall_ratio", _PERCENT),
    "Nstall": Figure("write_stalls"),
    "warming_s": Figure("warming_seconds"),
    "drift": Figure("drift_ratio"),
    "oscillation": Figure("oscillation_ratio"),
    "period_s": Figure("oscillation_period_seconds"),
    "client_us/o": Figure("client_cpu_seconds_per_operation", _MICRO),
    "client_user_us/o": Figure("client_user_cpu_seconds_per_operation", _MICRO),
    "psi_cpu": _pressure("cpu"),
    "psi_io": _pressure("io"),
    "psi_memory": _pressure("memory"),
    "cycles/o": _event("cycles"),
    "instructions/o": _event("instructions"),
    "branches/o": _event("branches"),
    "branch_misses/o": _event("branch_misses"),
    "cache_misses/o": _event("cache_misses"),
    "dtlb_misses/o": _event("dtlb_misses"),
    "itlb_misses/o": _event("itlb_misses"),
    "page_faults/o": _event("page_faults"),
}
"""Every metric of the store that is published. Imported tables may bring others: those are not."""

COMPARED = ("qps", "nopm", "cpu_us/o", "server_cs/o", "latency_p95", "sla")
"""The metrics that have the revision as a label, too: each is a series more for every revision."""

RELATIVE = "relative_throughput_ratio"
"""rQPS: throughput over that of the first revision of the line that has the series. With ``stat``:
``median``, and ``low`` and ``high`` where both have several runs."""


class Other(Frozen):
    """A published metric that is no figure of a step."""

    name: str
    labels: tuple[str, ...]
    help: str


OTHERS: Mapping[str, Other] = {
    name: Other(name=f"{PREFIX}{name}", labels=labels, help=text)
    for name, labels, text in (
        # Of revisions.
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
            "throughput of the newest revision of the line that was measured, at its last run",
        ),
        (
            "version_position",
            ("line", "target", "revision"),
            "place of the revision in the order of its line, from 0",
        ),
        (
            "version_timestamp_seconds",
            ("line", "target", "revision"),
            "when the revision was made; missing where that is not known",
        ),
        # Of runs.
        (
            "activity",
            (*SERIES_LABELS, "activity"),
            "what the DBMS told of itself, mean over the step, at the start of the run; the end of "
            "the activity's name is its unit, as in `wal_bytes/s`",
        ),
        # Of changes. `metric` is the store's name of it.
        (
            "run_change_point_effect_ratio",
            (*SERIES_LABELS, "metric", "kind", "worse", "fingerprint"),
            "relative change of the level, at the time of the first run of the first bad revision; "
            "0 where a change is no longer held",
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
            "1 for the state that a regression or an improvement is in, 0 for the others, at the "
            "time of every decision",
        ),
        (
            "regression_effect_ratio",
            ("fingerprint", "line", "target", "kind", "worse", "last_good", "first_bad"),
            "its largest relative change, at the time it was found",
        ),
        # Of machines.
        (
            "machine_info",
            ("machine_class", "hostname", "cpu_model", "kernel", "operating_system"),
            "1, at the time of every run: what it ran on",
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
        # Of the pipeline, all at the end of a night. `pipeline` is its name in the configuration.
        ("night_timestamp_seconds", ("pipeline",), "when the night ended"),
        ("night_duration_seconds", ("pipeline",), "how long it took"),
        ("night_stage_seconds", ("pipeline", "stage"), "how long each stage of it took"),
        ("night_success", ("pipeline",), "1, or 0 for a night that ended with an error"),
        (
            "night_preflight",
            ("pipeline", "check"),
            "1 for what was not as it should be on the machine before it measured",
        ),
        ("night_runs", ("pipeline",), "runs that it measured"),
        ("night_failed_steps", ("pipeline",), "steps that failed in those runs"),
        ("night_unbuilt", ("pipeline",), "revisions of its plan that have no build"),
        ("night_queue_runs", ("pipeline",), "runs of its plan that were left to be measured"),
        ("night_series", ("pipeline",), "series in which it looked for changes"),
        ("night_regressions", ("pipeline", "state"), "regressions by state, at its end"),
        (
            "night_spent_seconds",
            ("pipeline", "on"),
            "machine time of its parts: runs, confirm, bisect",
        ),
        ("night_budget_seconds", ("pipeline", "on"), "what it may spend on confirm and on bisect"),
        (
            "spent_seconds",
            ("pipeline", "on"),
            "machine time since the beginning, as the ledger tells it",
        ),
        (
            "spent_money",
            ("pipeline", "currency"),
            "what all of that cost, at the price of an hour of this machine",
        ),
        ("alarms", ("pipeline", "verdict"), "alarms since the beginning, by what became of them"),
        # Of publishing, and of servers.
        ("publish_timestamp_seconds", ("pipeline",), "when something was last published"),
        (
            "publish_refused_samples",
            ("pipeline",),
            "samples that the receiver refused, since the beginning",
        ),
        (
            "server_expires_timestamp_seconds",
            ("server", "type", "location"),
            "when a bench server is past its time to live",
        ),
    )
}
"""Every other published metric, by its name without the prefix."""


def full_name(view: str, figure: Figure) -> str:
    """Return the name of a figure in a view."""
    return f"{PREFIX}{view}_{figure.name}"
