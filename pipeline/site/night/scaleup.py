"""The chart of throughput over the number of clients in a night's report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.report.relative import ratio
from pipeline.site.format import Anchors, short
from pipeline.site.night.charts import medians
from pipeline.site.night.data import LineData, SetupData
from pipeline.site.setups import THROUGHPUT, LineSetup


@dataclass(frozen=True, slots=True)
class ScaleUpView:
    """A workload that was measured with several numbers of clients, as the report shows it."""

    anchor: str
    title: str
    clients: tuple[int, ...]
    steps: tuple[str, ...]


def scale_ups(line: LineData) -> list[tuple[SetupData, ...]]:
    """Return the results of a line that differ only in the number of clients, fewest first."""
    found: dict[LineSetup, list[SetupData]] = {}
    for part in line.setups:
        # The hash of a workload includes the number of clients.
        same = part.setup._replace(workload_hash="", clients=0)
        found.setdefault(same, []).append(part)
    return [
        tuple(sorted(parts, key=lambda part: part.setup.clients))
        for parts in found.values()
        if len({part.setup.clients for part in parts}) > 1
    ]


def view_scale_up(parts: Sequence[SetupData], line: LineData, anchors: Anchors) -> ScaleUpView:
    """Return the part of the report about throughput over the number of clients."""
    setup = parts[0].setup
    return ScaleUpView(
        anchor=anchors.new(line.line.name, "scale-up", setup.workload),
        title=f"{setup.workload}, config {setup.config}, {setup.build_options} build, "
        f"{setup.machine_class}",
        clients=tuple(part.setup.clients for part in parts),
        steps=tuple(step.step.name for step in parts[0].steps),
    )


def scaled(
    view: ScaleUpView, number: int, parts: Sequence[SetupData], line: LineData
) -> dict[str, Any]:
    """Return throughput relative to the fewest clients, by step and revision.

    A value is the median throughput of all repetitions, relative to that with the fewest clients;
    None if either is missing. ``number`` is the index of the line.
    """
    values: dict[str, dict[int, list[float | None]]] = {}
    for step in view.steps:
        columns = [
            medians(found, THROUGHPUT, len(line.labels))
            for part in parts
            for found in part.steps
            if found.step.name == step
        ]
        by_position = zip(*columns, strict=True)
        values[step] = {
            position: [short(ratio(value, at_clients[0])) for value in at_clients]
            for position, at_clients in enumerate(by_position)
            if at_clients[0]
        }
    return {"id": view.anchor, "line": number, "clients": view.clients, "values": values}
