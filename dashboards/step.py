"""Step detail: all measurements of one step of one line, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grafana_foundation_sdk.builders.dashboard import ConstantVariable
from grafana_foundation_sdk.builders.table import Panel as Table
from grafana_foundation_sdk.builders.timeseries import Panel as TimeSeries
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards import links, look, panels, promql, variables
from dashboards.board import BoardEvent, Row, assemble
from dashboards.trend import change_point_table

_STEP = f'{promql.SETUP},step="$step"'
_ACTIVITY = promql.other("activity", f'{_STEP},activity=~"$activity"')
_QPS = "Throughput"


def step(addresses: Sequence[ConstantVariable]) -> Dashboard:
    """Return the dashboard. ``addresses`` are the constants with the addresses of links."""
    charts = _charts()
    return assemble(
        links.STEP,
        "Step detail",
        "One step: throughput, cost per operation, response time, variance, work beside it.",
        since="now-5y",
        variables=[
            *addresses,
            *variables.setup(),
            variables.step(),
            variables.view(),
            variables.activity(),
        ],
        rows=[
            Row(9, [(16, charts[0]), (8, _relative())]),
            Row(8, [(8, chart) for chart in charts[1:4]], "Cost of an operation"),
            Row(8, [(8, chart) for chart in charts[4:7]], "Response time, and how steady it was"),
            Row(8, [(8, chart) for chart in charts[7:10]], "The machine"),
            Row(8, [(8, chart) for chart in charts[10:13]], "Work in the background"),
            Row(9, [(15, _activity()), (9, _activities())], "The DBMS"),
            Row(8, [(24, change_point_table(_STEP, [links.to_step(links.of_row("step"))]))]),
        ],
        events=[
            BoardEvent(
                "Change points",
                promql.change_points(promql.EITHER, _STEP),
                title="{{metric}} {{percent}} %",
                text="{{kind}}, worse: {{worse}}, {{fingerprint}}",
                color=look.WORSE,
                on=[_QPS],
            )
        ],
    )


def _chart(title: str, description: str, metrics: Mapping[str, str], unit: str) -> TimeSeries:
    """Return a chart of metrics of the store, by their legends, in the chosen view."""
    return panels.chart(
        title,
        description,
        {
            legend: promql.points(promql.figure(promql.EITHER, metric, _STEP))
            for legend, metric in metrics.items()
        },
        unit=unit,
    )


def _relative() -> TimeSeries:
    return panels.chart(
        "Relative QPS, with its interval",
        "Over the first revision of the line, at the time of the revision.",
        {stat: promql.points(promql.relative(stat, _STEP)) for stat in ("median", "low", "high")},
        unit=look.RATIO,
        thresholds=look.relative_limits(),
    )


def _activity() -> TimeSeries:
    return panels.chart(
        "What the DBMS did beside the statements, over its mean",
        "Of each activity: 1 is as usual. The report page has it over the time of a step.",
        {"{{activity}}": promql.over_its_mean(_ACTIVITY)},
        unit=look.RATIO,
        one_color_each=False,
    )


def _activities() -> Table:
    return panels.table(
        "Its newest run, and the mean of all",
        "Of every activity. A name ends with its unit: docs/reference/metrics.md.",
        [promql.newest(_ACTIVITY), f"avg_over_time({_ACTIVITY}[$__range])"],
        {
            "activity": panels.TableColumn("activity"),
            "Value #A": panels.TableColumn("newest", unit=look.COUNT, width=100),
            "Value #B": panels.TableColumn("mean", unit=look.COUNT, width=100),
        },
        by="activity",
    )


def _charts() -> list[TimeSeries]:
    return [
        _chart(
            _QPS,
            "Operations per second, and the 1st percentile of the seconds.",
            {"mean": "qps", "1st percentile of seconds": "qps_p1"},
            look.RATE,
        ),
        _chart(
            "Processor time per operation",
            "Of the server, and of the load generator: what to compare on noisy machines.",
            {"server": "cpu_us/o", "load generator": "client_us/o"},
            look.SECONDS,
        ),
        _chart(
            "Context switches and page faults per operation",
            "Of the server; of the whole host.",
            {"server": "server_cs/o", "host": "cs/o", "page faults": "page_faults/o"},
            look.COUNT,
        ),
        _chart(
            "Storage per operation",
            "Bytes that the host read and wrote for each operation.",
            {"read": "rKB/o", "written": "wKB/o"},
            look.BYTES,
        ),
        _chart(
            "Response time",
            "Of an event; docs/reference/metrics.md says what an event is.",
            {"p50": "latency_p50", "p95": "latency_p95", "p99": "latency_p99"},
            look.SECONDS,
        ),
        _chart(
            "Longest response and stall",
            "The longest event; the longest time with hardly any throughput.",
            {"longest event": "latency_max", "stall": "stall_s"},
            look.SECONDS,
        ),
        _chart(
            "Variation of throughput",
            "Standard deviation over mean of the seconds; drift and swing of long steps.",
            {"variation": "qps_cv", "drift": "drift", "oscillation": "oscillation"},
            look.PERCENT,
        ),
        _chart(
            "Processors",
            "Busy, and stolen by the hypervisor: with much of it nothing here can be trusted.",
            {"busy": "cpu/s", "stolen": "steal"},
            look.PERCENT,
        ),
        _chart(
            "Waiting",
            "Time in which a task waited for a processor, storage or memory.",
            {"processor": "psi_cpu", "storage": "psi_io", "memory": "psi_memory"},
            look.PERCENT,
        ),
        _chart(
            "Sizes",
            "Memory of the server, and the database after the step.",
            {"server's memory": "rss", "database": "dbsize"},
            look.BYTES,
        ),
        _chart(
            "Rows in the background",
            "Of the Insert Benchmark: inserts and deletes beside what is measured.",
            {"inserts": "inserts/s", "deletes": "deletes/s", "wanted": "inserts_target"},
            look.RATE,
        ),
        _chart(
            "Storage of the host",
            "What it read and wrote in a second, whoever asked for it.",
            {"read": "rMB/s", "written": "wMB/s"},
            look.BYTE_RATE,
        ),
        _chart(
            "Compaction",
            "Of RocksDB: bytes of flushes and compaction, and what it still owed.",
            {"written": "c_wgb", "read": "c_rgb", "owed": "c_pending_gb"},
            look.BYTES,
        ),
    ]
