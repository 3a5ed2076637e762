"""Overview: what needs attention this morning, worst first."""

from __future__ import annotations

from collections.abc import Sequence

from grafana_foundation_sdk.builders.dashboard import ConstantVariable
from grafana_foundation_sdk.builders.stat import Panel as Stat
from grafana_foundation_sdk.builders.table import Panel as Table
from grafana_foundation_sdk.builders.timeseries import Panel as TimeSeries
from grafana_foundation_sdk.models.dashboard import Dashboard, ValueMap, ValueMappingResult

from dashboards import links, look, panels, promql, variables
from dashboards.board import Row, assemble

_TARGET = 'target=~"$target"'
_CHOSEN = f'{_TARGET},machine_class=~"$machine_class",group=~"$group"'
_REGRESSION = "fingerprint, line, target, kind, worse, last_good, first_bad"
_LINE = ", ".join(links.SETUP)
_SUCCESS = ValueMap(
    options={"0": ValueMappingResult(text="failed"), "1": ValueMappingResult(text="done")}
)


def overview(addresses: Sequence[ConstantVariable]) -> Dashboard:
    """Return the dashboard. ``addresses`` are the constants with the addresses of links."""
    return assemble(
        links.OVERVIEW,
        "Overview",
        "What needs a look this morning, worst first.",
        since="now-1y",
        variables=[
            *addresses,
            *(variables.label(name, several=True) for name in ("target", "machine_class", "group")),
        ],
        rows=[
            Row(
                4,
                [
                    (4, last_night()),
                    (4, _night("Last night", "night_success", "How the last night ended.")),
                    (4, _open("confirmed", "Measured again and seen again, not taken up yet.")),
                    (4, _open("suspected", "Seen, and not measured again yet.")),
                    (4, _night("Runs left", "night_queue_runs", "Of the plan, for a next night.")),
                    (4, _night("Failed steps", "night_failed_steps", "In the last night's runs.")),
                ],
            ),
            Row(8, [(24, _found("Regressions that need a look", worse=True))]),
            Row(10, [(14, _lines()), (10, _trend())]),
            Row(6, [(24, _found("Improvements that need a look", worse=False))]),
        ],
    )


def last_night() -> Stat:
    """Return a panel with the time since the last night of each pipeline."""
    return panels.stat(
        "Since the last night",
        "Time since the end of the last night. After 36 hours there is an alert.",
        promql.age(promql.other("night_timestamp_seconds")),
        unit="dtdurations",
        thresholds=look.limits(
            look.BETTER, (26 * look.HOUR, look.BAD), (36 * look.HOUR, look.WORSE)
        ),
    )


def _night(title: str, metric: str, description: str) -> Stat:
    """Return a panel with one value of the last night: bad is 0 for success, else any value."""
    success = metric == "night_success"
    return panels.stat(
        title,
        description,
        promql.newest(promql.other(metric)),
        unit=look.COUNT,
        thresholds=look.limits(look.WORSE, (1, look.BETTER)) if success else look.none_is_good(),
        mappings=[_SUCCESS] if success else [],
    )


def _open(state: str, description: str) -> Stat:
    states = promql.ever(
        promql.other("regression_state", f'{_TARGET},worse="true",state="{state}"')
    )
    return panels.stat(
        f"Regressions {state}",
        description,
        f"count({states} == 1) or vector(0)",
        unit=look.COUNT,
        thresholds=look.none_is_good(),
        legend=state,
    )


def _found(title: str, *, worse: bool) -> Table:
    """Return a table of the regressions, or the improvements, without a decision."""
    way = f'{_TARGET},worse="{str(worse).lower()}"'
    states = promql.ever(promql.other("regression_state", f'{way},state=~"suspected|confirmed"'))
    effects = promql.ever(promql.other("regression_effect_ratio", way))
    rows = f"({states} == 1) * on ({_REGRESSION}) group_left () ({effects} != 0)"
    trend = links.to_dashboard(
        "Target trend", links.TREND, target=links.of_row("target"), line=links.of_row("line")
    )
    fingerprint = links.of_row("fingerprint")
    return panels.table(
        title,
        "Suspected or confirmed. The effect is the largest relative change among its series.",
        [rows, f"abs({rows})"],
        {
            "Value #A": panels.TableColumn(
                "effect",
                unit=look.PERCENT,
                decimals=1,
                thresholds=look.limits(look.WORSE if worse else look.BETTER),
                width=90,
            ),
            "state": panels.TableColumn("state", width=110),
            "kind": panels.TableColumn("kind", width=80),
            "target": panels.TableColumn("target", width=110),
            "line": panels.TableColumn("line", links=[trend]),
            "last_good": panels.TableColumn("last good"),
            "first_bad": panels.TableColumn("first bad"),
            "fingerprint": panels.TableColumn(
                "fingerprint", links=[links.to_issue(fingerprint), links.to_report()], width=140
            ),
        },
        by="Value #B",
        descending=True,
    )


def _lines() -> Table:
    """Return a panel with the newest relative QPS of every line and group of steps."""
    relative = promql.newest_over_first(_CHOSEN)
    trend = links.to_dashboard(
        "Target trend",
        links.TREND,
        **{name: links.of_row(name) for name in links.SETUP},
        group=links.of_row("group"),
    )
    return panels.table(
        "Lines: relative QPS of the newest revision",
        "Over the first revision of the line: the slowest step of each group, and the median.",
        [
            f"min by ({_LINE}, group) ({relative})",
            promql.median(f"{_LINE}, group", relative),
        ],
        {
            "Value #A": panels.relative_column("slowest"),
            "Value #B": panels.relative_column("median"),
            "target": panels.TableColumn("target"),
            "line": panels.TableColumn("line", links=[trend]),
            "group": panels.TableColumn("group"),
            "machine_class": panels.TableColumn("machine class"),
            "workload": panels.TableColumn("workload"),
            "config": panels.TableColumn("config"),
            "clients": panels.TableColumn("clients", width=70),
        },
        by="Value #A",
    )


def _trend() -> TimeSeries:
    """Return a chart of the median of each line, by the time of its revisions."""
    points = promql.points(promql.relative(matchers=_CHOSEN))
    return panels.chart(
        "Relative QPS of the lines",
        "Median over the steps, at the time of the revision. Below 1 it may have regressed.",
        {"{{line}} {{machine_class}} {{workload}} {{clients}}": promql.median(_LINE, points)},
        unit=look.RATIO,
        thresholds=look.relative_limits(),
        one_color_each=False,
    )
