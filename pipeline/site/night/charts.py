"""The data of all charts of a night's report, as one JSON document."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.site.changes import ShownChange, view_change
from pipeline.site.data import view_metrics
from pipeline.site.format import short
from pipeline.site.night.data import LineData, StepData, StepRun
from pipeline.site.night.response import responses
from pipeline.site.night.timelines import Timelines
from pipeline.workloads.base.histogram import PUBLISHED_EDGES_MS


class Charts:
    """Collects the charts of a night's report, and the runs that they show."""

    def __init__(self, lines: Sequence[LineData]) -> None:
        self._lines = [line.labels for line in lines]
        self._charts: list[dict[str, Any]] = []
        self._runs: dict[str, int] = {}
        self._metrics: set[str] = set()
        self._timelines = Timelines()
        self._scale_ups: list[Mapping[str, Any]] = []

    def add(
        self,
        anchor: str,
        line: int,
        data: StepData,
        changes: Sequence[ShownChange],
        base: int,
    ) -> None:
        """Add the chart of a step; ``base`` is the position that others are compared with."""
        measured = [run for run in data.runs if not run.failed]
        metrics = data.metrics()
        self._metrics |= set(metrics)
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
                        self._timelines.add(
                            run.run_id,
                            data.step.name,
                            run.over_time,
                            run.values.get("warming_s") if run.marks else None,
                        ),
                    ]
                    for run in measured
                ],
                "sla": {place: run.note for place, run in enumerate(measured) if run.sla_failed},
                "marks": {place: run.marks for place, run in enumerate(measured) if run.marks},
                "fields": self._timelines.fields(
                    {name for run in data.runs for name in run.over_time.moved}
                ),
                "responses": responses(data),
                "failed": [[run.position, run.repetition, run.note] for run in data.failed()],
                "values": {
                    name: [short(run.values.get(name)) for run in measured] for name in metrics
                },
                "medians": {
                    name: [short(value) for value in medians(data, name, len(self._lines[line]))]
                    for name in metrics
                },
                "changes": [_change(point, measured) for point in changes],
            }
        )

    def add_scale_up(self, document: Mapping[str, Any]) -> None:
        """Add the chart of throughput over the number of clients."""
        self._scale_ups.append(document)

    def document(self) -> dict[str, Any]:
        """Return all data that the scripts of the page read."""
        return {
            "lines": self._lines,
            "charts": self._charts,
            "runs": list(self._runs),
            **self._timelines.document(),
            "buckets": PUBLISHED_EDGES_MS,
            "scaleups": self._scale_ups,
            "metrics": view_metrics(self._metrics),
        }

    def _run(self, run_id: str) -> int:
        return self._runs.setdefault(run_id, len(self._runs))


def medians(data: StepData, metric: str, positions: int) -> list[float | None]:
    """Return the median of a metric at every position; None without a value."""
    values: list[list[float]] = [[] for _ in range(positions)]
    for run in data.runs:
        if metric in run.values:
            values[run.position].append(run.values[metric])
    return [statistics.median(found) if found else None for found in values]


def _change(point: ShownChange, measured: Sequence[StepRun]) -> dict[str, Any]:
    """Return a change point as the charts of the page show it."""
    shift = point.shift
    places = [run.position for run in measured if shift.series.metric in run.values]
    after = max([place for place in places if place < shift.earliest], default=0)
    return view_change(point, shift.position, after, shift.latest)
