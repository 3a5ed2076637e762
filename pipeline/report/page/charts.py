"""The data of the charts: one JSON document, from which the page draws what comes into view."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.metrics import METRICS, Direction
from pipeline.model import Shift
from pipeline.report.page.data import LineData, StepData, StepRun
from pipeline.report.page.response import responses
from pipeline.report.page.timelines import Timelines
from pipeline.report.wording import change, interval, short
from pipeline.workloads.base.histogram import PUBLISHED_EDGES_MS


class Charts:
    """Collects the charts of a page and the runs that they show."""

    def __init__(self, lines: Sequence[LineData]) -> None:
        self._lines = [line.labels for line in lines]
        self._charts: list[dict[str, Any]] = []
        self._runs: dict[str, int] = {}
        self._timelines = Timelines()
        self._scale_ups: list[Mapping[str, Any]] = []

    def add(
        self,
        anchor: str,
        line: int,
        data: StepData,
        shifts: Sequence[Shift],
        base: int,
    ) -> None:
        """Add the chart of a step; ``base`` is the position that others are compared with."""
        measured = [run for run in data.runs if not run.failed]
        metrics = data.metrics()
        self._charts.append(
            {
                "id": anchor,
                "line": line,
                "unit": data.step.unit,
                "step": data.step.name,
                "base": base,
                "points": [
                    [
                        run.position,
                        run.repetition,
                        self._run(run.run_id),
                        self._timelines.add(data.step.name, run),
                    ]
                    for run in measured
                ],
                "sla": {place: run.note for place, run in enumerate(measured) if run.sla_failed},
                "marks": {place: run.marks for place, run in enumerate(measured) if run.marks},
                "fields": self._timelines.fields(data),
                "responses": responses(data),
                "failed": [[run.position, run.repetition, run.note] for run in data.failed()],
                "values": {
                    name: [short(run.values.get(name)) for run in measured] for name in metrics
                },
                "medians": {
                    name: [short(value) for value in medians(data, name, len(self._lines[line]))]
                    for name in metrics
                },
                "shifts": [_shift(shift, measured) for shift in shifts],
            }
        )

    def add_scale_up(self, document: Mapping[str, Any]) -> None:
        """Add the chart of a scale-up."""
        self._scale_ups.append(document)

    def document(self) -> dict[str, Any]:
        """Return everything the page's script reads."""
        return {
            "lines": self._lines,
            "charts": self._charts,
            "runs": list(self._runs),
            **self._timelines.document(),
            "buckets": PUBLISHED_EDGES_MS,
            "scaleups": self._scale_ups,
            "metrics": {
                name: {
                    "unit": metric.unit,
                    "more": metric.direction is Direction.MORE_IS_BETTER,
                    "help": metric.help,
                }
                for name, metric in METRICS.items()
            },
        }

    def _run(self, run_id: str) -> int:
        return self._runs.setdefault(run_id, len(self._runs))


def medians(data: StepData, metric: str, positions: int) -> list[float | None]:
    """Return the median of a metric at every position, None where there is no value."""
    values: list[list[float]] = [[] for _ in range(positions)]
    for run in data.runs:
        if metric in run.values:
            values[run.position].append(run.values[metric])
    return [statistics.median(found) if found else None for found in values]


def _shift(shift: Shift, measured: Sequence[StepRun]) -> dict[str, Any]:
    """``after`` is the last measured position that is surely before the change."""
    metric = shift.series.metric
    places = [run.position for run in measured if metric in run.values]
    return {
        "metric": metric,
        "position": shift.position,
        "after": max([place for place in places if place < shift.earliest], default=0),
        "latest": shift.latest,
        "worse": shift.worse,
        "text": change(shift),
        "interval": interval(shift),
    }
