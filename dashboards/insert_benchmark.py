"""Insert Benchmark: rates of its steps, whether they met their SLA, and response times."""

from __future__ import annotations

from collections.abc import Sequence

from grafana_foundation_sdk.builders.dashboard import ConstantVariable
from grafana_foundation_sdk.builders.timeseries import Panel as TimeSeries
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards import links, look, panels, promql, variables
from dashboards.board import Row, assemble
from dashboards.look import limits
from pipeline.publish.names import FIGURES, VERSION, full_name

SLA = 0.95
"""The part of the target rate below which a step has failed its SLA, as published."""


def insert_benchmark(addresses: Sequence[ConstantVariable]) -> Dashboard:
    """Return the dashboard. ``addresses`` are the constants with the addresses of links."""
    step = links.to_step(links.of_row("step"))
    metric = full_name(VERSION, FIGURES["sla"])
    return assemble(
        links.INSERT_BENCHMARK,
        "Insert Benchmark",
        "The ten steps of the Insert Benchmark, by version and over time.",
        since="now-10y",
        variables=[
            *addresses,
            *variables.setup(metric),
            *variables.groups_and_steps(metric),
            variables.base(),
            variables.how_many(),
            variables.view(),
        ],
        rows=[
            Row(
                10,
                [
                    (
                        14,
                        panels.grid(
                            "Rates",
                            "Operations per second: rows inserted, or queries beside inserts.",
                            promql.versions_of("qps"),
                            unit=look.RATE,
                            decimals=None,
                            thresholds=None,
                            link=step,
                        ),
                    ),
                    (
                        10,
                        panels.grid(
                            "SLA",
                            "Achieved over wanted rate of the work beside queries. A step below "
                            "0.95 has failed: its other figures count for nothing.",
                            promql.versions_of("sla"),
                            unit=look.RATIO,
                            decimals=3,
                            thresholds=limits(look.WORSE, (SLA, look.BETTER)),
                            link=step,
                        ),
                    ),
                ],
            ),
            Row(
                9,
                [
                    (12, _chart("Throughput", "Operations per second.", "qps", look.RATE)),
                    (
                        12,
                        _chart(
                            "Inserts beside it",
                            "Rows per second that were inserted while it was measured.",
                            "inserts/s",
                            look.RATE,
                        ),
                    ),
                ],
            ),
            Row(
                9,
                [
                    (
                        8,
                        _chart(
                            "Response time of queries",
                            "95th percentile.",
                            "latency_p95",
                            look.SECONDS,
                        ),
                    ),
                    (
                        8,
                        _chart(
                            "Response time of inserts",
                            "99th percentile of the transactions beside queries.",
                            "inserts_p99",
                            look.SECONDS,
                        ),
                    ),
                    (
                        8,
                        _chart(
                            "Longest insert",
                            "The longest transaction beside queries.",
                            "inserts_max",
                            look.SECONDS,
                        ),
                    ),
                ],
            ),
        ],
    )


def _chart(title: str, description: str, metric: str, unit: str) -> TimeSeries:
    return panels.chart(
        title,
        description,
        {"{{step}}": promql.points(promql.figure(promql.EITHER, metric))},
        unit=unit,
        link=links.to_step(links.of_series("step")),
        one_color_each=False,
    )
