"""Compare versions: steps by versions, each relative to a base that can be chosen."""

from __future__ import annotations

from collections.abc import Sequence

from grafana_foundation_sdk.builders.dashboard import ConstantVariable
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards import links, look, panels, promql, variables
from dashboards.board import Row, assemble


def compare(addresses: Sequence[ConstantVariable]) -> Dashboard:
    """Return the dashboard. ``addresses`` are the constants with the addresses of links."""
    step = links.to_step(links.of_row("step"))
    return assemble(
        links.COMPARE,
        "Compare versions",
        "Every step of every version against a base.",
        since="now-10y",
        variables=[
            *addresses,
            *variables.setup(),
            variables.workload_version(),
            *variables.groups_and_steps(),
            variables.compared_metric(),
            variables.base(),
            variables.how_many(),
        ],
        rows=[
            Row(
                16,
                [
                    (
                        24,
                        panels.grid(
                            "Relative to $base",
                            "Throughput over that of the base; of costs and response times the "
                            "base over the version, so that below 1 is worse in every metric. "
                            "Blue is better, orange worse, from 3 % on.",
                            promql.version_ratios(),
                            unit=look.RATIO,
                            decimals=2,
                            thresholds=look.relative_limits(),
                            link=step,
                        ),
                    )
                ],
            ),
            Row(
                14,
                [
                    (
                        24,
                        panels.grid(
                            "$metric",
                            "Medians over repetitions, in the base unit that the name ends with.",
                            promql.version_values(),
                            unit=look.COUNT,
                            decimals=None,
                            thresholds=None,
                            link=step,
                        ),
                    )
                ],
            ),
        ],
    )
