"""Target trend: one line over its releases or commits, and over the nights that measured it."""

from __future__ import annotations

from collections.abc import Sequence

from grafana_foundation_sdk.builders.dashboard import ConstantVariable, DashboardLink
from grafana_foundation_sdk.builders.table import Panel as Table
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards import links, look, panels, promql, variables
from dashboards.board import BoardEvent, Row, assemble
from pipeline.publish.names import REVISION, RUN

_BY_REVISION = "Relative QPS by the time of the revision"
_GROUPS = "Median of each group"
_BY_RUN = "Throughput of every run over that of the base"
_THROUGHPUT = 'metric=~"qps|nopm"'
_REST = 'metric!~"qps|nopm"'


def trend(addresses: Sequence[ConstantVariable]) -> Dashboard:
    """Return the dashboard. ``addresses`` are the constants with the addresses of links."""
    step = links.to_step(links.of_series("step"))
    relative = promql.points(promql.relative())
    return assemble(
        links.TREND,
        "Target trend",
        "One line on one machine class: its steps over time, and where their level changed.",
        since="now-5y",
        variables=[
            *addresses,
            *variables.setup(),
            *variables.groups_and_steps(),
            variables.base(),
        ],
        rows=[
            Row(
                13,
                [
                    (
                        16,
                        panels.chart(
                            _BY_REVISION,
                            "Over the first revision of the line; medians over repetitions. Lines "
                            "across are change points. A click on a point leads to its step.",
                            {"{{step}}": relative},
                            unit=look.RATIO,
                            link=step,
                            thresholds=look.relative_limits(),
                            one_color_each=False,
                        ),
                    ),
                    (8, _newest()),
                ],
            ),
            Row(
                9,
                [
                    (
                        8,
                        panels.chart(
                            _GROUPS,
                            "Median of the relative QPS over the steps of a group.",
                            {"{{group}}": promql.median("group", relative)},
                            unit=look.RATIO,
                            thresholds=look.relative_limits(),
                            one_color_each=False,
                        ),
                    ),
                    (
                        16,
                        panels.chart(
                            _BY_RUN,
                            "Every repetition at the time it was measured, over the median of the "
                            "base revision: what the nights and the machine did.",
                            {"{{step}}": promql.over_base(RUN, "qps")},
                            unit=look.RATIO,
                            link=step,
                            thresholds=look.relative_limits(),
                            one_color_each=False,
                        ),
                    ),
                ],
            ),
            Row(9, [(24, change_point_table(promql.STEPS, [links.to_step(links.of_row("step"))]))]),
        ],
        events=change_point_events(promql.STEPS, [_BY_REVISION, _GROUPS], [_BY_RUN]),
    )


def change_point_events(
    matchers: str, by_revision: Sequence[str], by_run: Sequence[str]
) -> list[BoardEvent]:
    """Return the change points as events over panels by time of revision and by time of run.

    Those of throughput are initially drawn, those of other metrics can be switched on.
    """
    return [
        BoardEvent(
            f"{what}, by {view}",
            promql.change_points(view, f"{matchers},{metrics}"),
            title="{{step}}: {{metric}} {{percent}} %",
            text="{{line}}, {{kind}}, worse: {{worse}}, {{fingerprint}}",
            color=look.WORSE,
            on=titles,
            shown=metrics == _THROUGHPUT,
        )
        for view, titles in ((REVISION, by_revision), (RUN, by_run))
        for what, metrics in (
            ("Change points of throughput", _THROUGHPUT),
            ("Other change points", _REST),
        )
        if titles
    ]


def change_point_table(matchers: str, steps: Sequence[DashboardLink] = ()) -> Table:
    """Return a table of the current change points, the largest first. ``steps`` are their links."""
    effects = f"{promql.newest(promql.other('revision_change_point_effect_ratio', matchers))} != 0"
    fingerprint = links.of_row("fingerprint")
    return panels.table(
        "Change points",
        "Every change that is held now, of any metric, the largest first.",
        [effects, f"abs({effects})"],
        {
            "Value #A": panels.TableColumn("effect", unit=look.PERCENT, decimals=1, width=90),
            "worse": panels.TableColumn("worse", width=70),
            "step": panels.TableColumn("step", links=steps),
            "group": panels.TableColumn("group"),
            "metric": panels.TableColumn("metric"),
            "kind": panels.TableColumn("kind", width=80),
            "fingerprint": panels.TableColumn(
                "regression", links=[links.to_issue(fingerprint), links.to_report()]
            ),
        },
        by="Value #B",
        descending=True,
    )


def _newest() -> Table:
    return panels.table(
        "Newest revision over $base, slowest first",
        "Throughput of each step in the revision with the last place that was measured.",
        [promql.newest_over_base()],
        {
            "step": panels.TableColumn("step", links=[links.to_step(links.of_row("step"))]),
            panels.VALUE: panels.relative_column("rQPS"),
            "group": panels.TableColumn("group", width=100),
        },
        by=panels.VALUE,
    )
