"""Instructions: counted instructions of a line's steps, beside their time."""

from __future__ import annotations

from collections.abc import Sequence

from grafana_foundation_sdk.builders.dashboard import ConstantVariable
from grafana_foundation_sdk.builders.table import Panel as Table
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards import links, look, panels, promql, variables
from dashboards.board import BoardEvent, Row, assemble
from dashboards.trend import change_point_table
from pipeline.publish.names import REVISION

_METRIC = "instructions/o"
_CHANGES = f'{promql.COUNTED},metric="{_METRIC}"'
_RELATIVE = "Instructions per operation over $base"
_EXACT = "Instructions per operation"
_TIMED_STEP = "{{step}} {{workload}} {{clients}}"


def counts(addresses: Sequence[ConstantVariable]) -> Dashboard:
    """Return the dashboard. ``addresses`` are the constants with the addresses of links."""
    names = ("target", "line", "machine_class", "config")
    trend = links.to_dashboard(
        "Target trend", links.TREND, **{name: links.chosen(name) for name in names}
    )
    return assemble(
        links.COUNTS,
        "Instructions",
        "Counted instructions of each step by revision, and the time of the same steps.",
        since="now-5y",
        variables=[*addresses, *variables.counted_steps(), variables.how_many()],
        rows=[
            Row(
                11,
                [
                    (
                        12,
                        panels.chart(
                            _RELATIVE,
                            "Exact: equal builds differ by less than .05 %. At the time of the "
                            "revision. Lines across are change points.",
                            {"{{step}}": promql.over_base(REVISION, _METRIC, promql.COUNTED)},
                            unit=look.RATIO,
                            thresholds=look.cost_limits(),
                            one_color_each=False,
                        ),
                    ),
                    (
                        12,
                        panels.chart(
                            "Processor time per operation over $base",
                            "Of the same steps, timed. More time at equal instructions is "
                            "waiting, caches or the layout of the code.",
                            {_TIMED_STEP: promql.over_base(REVISION, "cpu_us/o", promql.TIMED)},
                            unit=look.RATIO,
                            thresholds=look.cost_limits(),
                            one_color_each=False,
                        ),
                    ),
                ],
            ),
            Row(
                10,
                [
                    (
                        12,
                        panels.chart(
                            _EXACT,
                            "Of the thread or process that serves the statements.",
                            {
                                "{{step}}": promql.points(
                                    promql.figure(REVISION, _METRIC, promql.COUNTED)
                                )
                            },
                            unit=look.COUNT,
                            one_color_each=False,
                        ),
                    ),
                    (
                        12,
                        panels.chart(
                            "Relative QPS of the timed steps",
                            "Over the first revision of the line; medians over repetitions.",
                            {_TIMED_STEP: promql.points(promql.relative(matchers=promql.TIMED))},
                            unit=look.RATIO,
                            thresholds=look.relative_limits(),
                            one_color_each=False,
                        ),
                    ),
                ],
            ),
            Row(
                10,
                [
                    (
                        12,
                        panels.grid(
                            "Instructions of versions over $base",
                            "Blue is fewer, orange more, from .5 % on.",
                            promql.versions_over_base(_METRIC, promql.COUNTED),
                            unit=look.RATIO,
                            decimals=4,
                            thresholds=look.cost_limits(),
                            link=trend,
                        ),
                    ),
                    (12, _newest()),
                ],
            ),
            Row(9, [(24, change_point_table(_CHANGES))]),
        ],
        events=[
            BoardEvent(
                "Change points of instructions",
                promql.change_points(REVISION, _CHANGES),
                title="{{step}}: {{metric}} {{percent}} %",
                text="{{line}}, {{kind}}, worse: {{worse}}, {{fingerprint}}",
                color=look.WORSE,
                on=[_RELATIVE, _EXACT],
            )
        ],
    )


def _newest() -> Table:
    """Return a table of the newest revision: instructions and time of each step, joined."""
    by_step = [
        promql.median("step, group", promql.newest_version_over_base(metric, matchers))
        for metric, matchers in (
            (_METRIC, promql.COUNTED),
            ("cpu_us/o", promql.TIMED),
            ("qps", promql.TIMED),
        )
    ]
    return panels.table(
        "Newest revision over $base, most instructions first",
        "Of the revision with the last place on the line. Times are medians over workloads.",
        by_step,
        {
            "step": panels.TableColumn("step"),
            "group": panels.TableColumn("group", width=120),
            "Value #A": panels.TableColumn(
                "instructions",
                unit=look.RATIO,
                decimals=4,
                thresholds=look.cost_limits(),
                width=110,
            ),
            "Value #B": panels.TableColumn(
                "processor time", unit=look.RATIO, decimals=3, width=120
            ),
            "Value #C": panels.relative_column("rQPS"),
        },
        by="Value #A",
        descending=True,
    )
