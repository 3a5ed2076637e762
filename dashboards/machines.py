"""Machines and controls: whether the measurements of the nights can be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from grafana_foundation_sdk.builders.dashboard import ConstantVariable
from grafana_foundation_sdk.builders.table import Panel as Table
from grafana_foundation_sdk.builders.timeseries import Panel as TimeSeries
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards import links, look, panels, promql, variables
from dashboards.board import Row, assemble
from pipeline.publish.names import OTHERS, RUN

DRIFT = 0.03
"""Median difference between equal builds beyond which the machine is suspect."""

_CLASS = 'machine_class=~"$machine_class"'


def machines(addresses: Sequence[ConstantVariable]) -> Dashboard:
    """Return the dashboard. ``addresses`` are the constants with the addresses of links."""
    drift = promql.points(promql.other("control_drift_ratio", _CLASS))
    return assemble(
        links.MACHINES,
        "Machines and controls",
        "A control is the same build measured again: what differs there is the machine's doing.",
        since="now-90d",
        variables=[
            *addresses,
            variables.label("machine_class", OTHERS["machine_info"].name, several=True),
        ],
        rows=[
            Row(
                10,
                [
                    (
                        12,
                        panels.chart(
                            "Drift of the controls",
                            "Median over the steps of the difference between a build and itself. "
                            "Beyond 3 % either way the nights around it are in question.",
                            {
                                "{{line}} {{machine_class}} {{metric}}": promql.median(
                                    "line, machine_class, metric", drift
                                )
                            },
                            unit=look.PERCENT,
                            thresholds=look.limits(
                                look.WORSE, (-DRIFT, look.PLAIN), (DRIFT, look.WORSE)
                            ),
                            one_color_each=False,
                        ),
                    ),
                    (12, _controls()),
                ],
            ),
            Row(
                8,
                [
                    (
                        8,
                        _chart(
                            "Stolen by the hypervisor",
                            "Of the time of all processors; the worst step of each run.",
                            {"{{machine_class}}": "steal"},
                        ),
                    ),
                    (
                        8,
                        _chart(
                            "Waiting",
                            "Time in which a task waited for a processor, storage or memory.",
                            {
                                "{{machine_class}} processor": "psi_cpu",
                                "{{machine_class}} storage": "psi_io",
                                "{{machine_class}} memory": "psi_memory",
                            },
                        ),
                    ),
                    (
                        8,
                        _chart(
                            "Variation of throughput",
                            "Standard deviation over mean of the seconds; the noisiest step.",
                            {"{{machine_class}}": "qps_cv"},
                        ),
                    ),
                ],
            ),
            Row(7, [(24, _information())]),
        ],
    )


def _chart(title: str, description: str, metrics: dict[str, str]) -> TimeSeries:
    return panels.chart(
        title,
        description,
        {
            legend: "max by (machine_class) ("
            + promql.points(promql.figure(RUN, metric, _CLASS))
            + ")"
            for legend, metric in metrics.items()
        },
        unit=look.PERCENT,
        one_color_each=len(metrics) > 1,
    )


def _controls() -> Table:
    newest = promql.newest(promql.other("control_drift_ratio", _CLASS))
    return panels.table(
        "Controls, largest difference first",
        "The newest of each step. Single steps of a short night differ by chance.",
        [newest, f"abs({newest})"],
        {
            "Value #A": panels.TableColumn("difference", unit=look.PERCENT, decimals=1, width=100),
            "step": panels.TableColumn("step"),
            "metric": panels.TableColumn("metric"),
            "line": panels.TableColumn("line"),
            "machine_class": panels.TableColumn("machine class"),
            "workload": panels.TableColumn("workload"),
            "clients": panels.TableColumn("clients", width=70),
        },
        by="Value #B",
        descending=True,
    )


def _information() -> Table:
    runs = OTHERS["machine_info"]
    return panels.table(
        "Machines",
        "What the runs in the time range ran on, with the number of runs.",
        [f"count_over_time({runs.name}{{{_CLASS}}}[$__range])"],
        {
            panels.VALUE: panels.TableColumn("runs", width=80),
            "machine_class": panels.TableColumn("machine class"),
            "hostname": panels.TableColumn("host"),
            "cpu_model": panels.TableColumn("processor"),
            "kernel": panels.TableColumn("kernel"),
            "operating_system": panels.TableColumn("operating system"),
        },
        by=panels.VALUE,
        descending=True,
    )
