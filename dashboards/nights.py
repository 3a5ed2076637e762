"""Pipeline: whether nights run, their costs, and whether their results are published."""

from __future__ import annotations

from collections.abc import Sequence

from grafana_foundation_sdk.builders.dashboard import ConstantVariable
from grafana_foundation_sdk.builders.stat import Panel as Stat
from grafana_foundation_sdk.builders.table import Panel as Table
from grafana_foundation_sdk.builders.timeseries import Panel as TimeSeries
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards import links, look, panels, promql, variables
from dashboards.board import Row, assemble
from dashboards.overview import last_night

_PIPELINE = 'pipeline=~"$pipeline"'


def pipeline(addresses: Sequence[ConstantVariable]) -> Dashboard:
    """Return the dashboard. ``addresses`` are the constants with the addresses of links."""
    spent, budget = (
        promql.newest(promql.other(name, _PIPELINE))
        for name in ("night_spent_seconds", "night_budget_seconds")
    )
    return assemble(
        links.PIPELINE,
        "Pipeline",
        "Nights, builds, the queue, cost, alarms, and what was published.",
        since="now-90d",
        variables=[*addresses, variables.pipeline()],
        rows=[
            Row(
                4,
                [
                    (3, last_night()),
                    (
                        3,
                        panels.stat(
                            "It took",
                            "From the beginning of the last night to its end.",
                            promql.newest(promql.other("night_duration_seconds", _PIPELINE)),
                            unit="dtdurations",
                            thresholds=look.no_limits(),
                        ),
                    ),
                    (
                        3,
                        panels.stat(
                            "Since the reaper ran",
                            "After three hours there is an alert.",
                            promql.age(promql.other("reap_timestamp_seconds", _PIPELINE)),
                            unit="dtdurations",
                            thresholds=look.limits(
                                look.BETTER, (look.HOUR, look.BAD), (3 * look.HOUR, look.WORSE)
                            ),
                        ),
                    ),
                    (
                        3,
                        panels.stat(
                            "Since something was published",
                            "After 30 hours there is an alert.",
                            promql.age(promql.other("publish_timestamp_seconds", _PIPELINE)),
                            unit="dtdurations",
                            thresholds=look.limits(
                                look.BETTER,
                                (26 * look.HOUR, look.BAD),
                                (30 * look.HOUR, look.WORSE),
                            ),
                        ),
                    ),
                    (
                        3,
                        _stat(
                            "Refused samples",
                            "Since the beginning: the receiver did not take them.",
                            "publish_refused_samples",
                        ),
                    ),
                    (3, _stat("Unbuilt", "Revisions of the plan without build.", "night_unbuilt")),
                    (
                        3,
                        panels.stat(
                            "Spent of the budget",
                            "Of the time that the last night may measure again and bisect.",
                            f"{spent} / ({budget} > 0)",
                            unit=look.PERCENT,
                            thresholds=look.limits(look.BETTER, (0.9, look.BAD)),
                            legend="{{on}}",
                            decimals=0,
                        ),
                    ),
                    (
                        3,
                        panels.stat(
                            "Cost",
                            "Of all machine time, at the price of an hour; none without a price.",
                            promql.newest(promql.other("spent_money", _PIPELINE)),
                            unit=look.COUNT,
                            thresholds=look.no_limits(),
                            legend="{{currency}}",
                            decimals=2,
                        ),
                    ),
                ],
            ),
            Row(
                9,
                [
                    (
                        12,
                        panels.bars(
                            panels.chart(
                                "Duration of the nights by stage",
                                "Wall-clock time of each stage.",
                                {
                                    "{{stage}}": _sum("stage", "night_stage_seconds"),
                                },
                                unit=look.SECONDS,
                                one_color_each=False,
                            ),
                            stacked=True,
                        ),
                    ),
                    (
                        12,
                        _counts(
                            "Nights",
                            "What each of them measured, and what it could not.",
                            {
                                "runs": "night_runs",
                                "failed steps": "night_failed_steps",
                                "unbuilt revisions": "night_unbuilt",
                                "runs left": "night_queue_runs",
                                "ended well": "night_success",
                            },
                        ),
                    ),
                ],
            ),
            Row(
                8,
                [
                    (
                        8,
                        panels.bars(
                            panels.chart(
                                "Machine time of the nights",
                                "Measuring, and measuring again: confirm and bisect.",
                                {"{{on}}": _sum("on", "night_spent_seconds")},
                                unit=look.SECONDS,
                                one_color_each=False,
                            ),
                            stacked=True,
                        ),
                    ),
                    (
                        8,
                        panels.chart(
                            "Regressions by state",
                            "As each night left them.",
                            {"{{state}}": _sum("state", "night_regressions")},
                            unit=look.COUNT,
                            one_color_each=False,
                        ),
                    ),
                    (
                        8,
                        _counts(
                            "Series",
                            "In which the nights looked for changes.",
                            {"series": "night_series"},
                        ),
                    ),
                ],
            ),
            Row(8, [(8, _alarms()), (8, _spent()), (8, _servers())]),
            Row(
                7,
                [
                    (
                        24,
                        panels.bars(
                            panels.chart(
                                "Machines that were not as they should be",
                                "Checks that a night was warned of before it measured.",
                                {"{{check}}": _sum("check", "night_preflight")},
                                unit=look.COUNT,
                                one_color_each=False,
                            ),
                            stacked=True,
                        ),
                    ),
                ],
            ),
        ],
    )


def _stat(title: str, description: str, name: str) -> Stat:
    return panels.stat(
        title,
        description,
        promql.newest(promql.other(name, _PIPELINE)),
        unit=look.COUNT,
        thresholds=look.none_is_good(),
    )


def _sum(labels: str, name: str) -> str:
    return f"sum by ({labels}) ({promql.points(promql.other(name, _PIPELINE))})"


def _counts(title: str, description: str, names: dict[str, str]) -> TimeSeries:
    return panels.chart(
        title,
        description,
        {
            f"{legend} {{{{pipeline}}}}": promql.points(promql.other(name, _PIPELINE))
            for legend, name in names.items()
        },
        unit=look.COUNT,
    )


def _alarms() -> Table:
    return panels.table(
        "Ledger: what became of alarms",
        "Since the beginning. Noise and environment are what the trust in alarms is paid with.",
        [promql.newest(promql.other("alarms", _PIPELINE))],
        {
            "verdict": panels.TableColumn("verdict"),
            panels.VALUE: panels.TableColumn("alarms", width=90),
            "pipeline": panels.TableColumn("pipeline"),
        },
        by=panels.VALUE,
        descending=True,
    )


def _spent() -> Table:
    return panels.table(
        "Ledger: machine time",
        "Since the beginning, by what it was spent on.",
        [promql.newest(promql.other("spent_seconds", _PIPELINE))],
        {
            "on": panels.TableColumn("on"),
            panels.VALUE: panels.TableColumn("time", unit=look.SECONDS),
            "pipeline": panels.TableColumn("pipeline"),
        },
        by=panels.VALUE,
        descending=True,
    )


def _servers() -> Table:
    expires = promql.newest(promql.other("server_expires_timestamp_seconds"))
    return panels.table(
        "Bench servers",
        "Time until each is past its time to live; below zero it costs money for nothing.",
        [f"({expires} > 0) - time()"],
        {
            "server": panels.TableColumn("server"),
            panels.VALUE: panels.TableColumn(
                "time left",
                unit="dtdurations",
                thresholds=look.limits(look.WORSE, (0, look.PLAIN)),
            ),
            "type": panels.TableColumn("type"),
            "location": panels.TableColumn("location"),
        },
        by=panels.VALUE,
    )
