"""Scale-up: throughput at more clients over that at the fewest, where a workload has several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.report.page.charts import medians
from pipeline.report.page.data import LineData, SetupData
from pipeline.report.setups import THROUGHPUT, Setup
from pipeline.report.wording import Anchors, short


@dataclass(frozen=True, slots=True)
class ScaleUpView:
    """A workload with several numbers of clients, and its steps to choose from."""

    anchor: str
    title: str
    clients: tuple[int, ...]
    steps: tuple[str, ...]


def scale_ups(line: LineData) -> list[tuple[SetupData, ...]]:
    """Return the parts of a line that differ in the number of clients alone, fewest first."""
    found: dict[Setup, list[SetupData]] = {}
    for part in line.setups:
        # The hash of a workload has the clients in it.
        same = part.setup._replace(workload_hash="", clients=0)
        found.setdefault(same, []).append(part)
    return [
        tuple(sorted(parts, key=lambda part: part.setup.clients))
        for parts in found.values()
        if len({part.setup.clients for part in parts}) > 1
    ]


def view_scale_up(parts: Sequence[SetupData], line: LineData, anchors: Anchors) -> ScaleUpView:
    """Return what the page says of a scale-up; its chart is drawn from :func:`scaled`."""
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
    """Return a scale-up for the page: ``values`` by step and position, one for each of clients.

    A value is the median throughput of all repetitions over that at the fewest clients; None
    where either is missing. ``number`` is that of the line.
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
            position: [_ratio(value, at_clients[0]) for value in at_clients]
            for position, at_clients in enumerate(by_position)
            if at_clients[0]
        }
    return {"id": view.anchor, "line": number, "clients": view.clients, "values": values}


def _ratio(value: float | None, fewest: float | None) -> float | None:
    return short(value / fewest) if value is not None and fewest else None
