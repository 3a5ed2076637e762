"""The data of the charts: one JSON document, from which the page draws what comes into view."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.metrics import METRICS, Direction
from pipeline.model import Shift
from pipeline.report.page.data import LineData, StepData, StepRun
from pipeline.report.page.wording import percent

MOST_TIMELINE_POINTS = 300_000
"""Points of per-second throughput in a page; with more, neighbouring seconds are averaged.
A point takes about six bytes, so this is less than half of what the chart library takes."""

_DIGITS = 5
"""Significant digits kept: ten times finer than a pixel of a chart."""


class Charts:
    """Collects the charts of a page and the throughput of the runs that they show."""

    def __init__(self, lines: Sequence[LineData]) -> None:
        self._lines = [line.labels for line in lines]
        self._charts: list[dict[str, Any]] = []
        self._runs: dict[str, int] = {}
        self._timelines: dict[tuple[str, str], int] = {}
        self._points: list[dict[str, Any]] = []
        kept = {
            (run.run_id, step.step.name): len(run.timeline)
            for line in lines
            for setup in line.setups
            for step in setup.steps
            for run in step.runs
        }
        self._averaged = max(1, math.ceil(sum(kept.values()) / MOST_TIMELINE_POINTS))

    def add(
        self, anchor: str, line: int, data: StepData, shifts: Sequence[Shift], base: int
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
                        self._timeline(run.run_id, data.step.name, run.timeline),
                    ]
                    for run in measured
                ],
                "failed": [[run.position, run.repetition, run.note] for run in data.failed()],
                "values": {
                    name: [_short(run.values.get(name)) for run in measured] for name in metrics
                },
                "medians": {
                    name: [_short(value) for value in medians(data, name, len(self._lines[line]))]
                    for name in metrics
                },
                "shifts": [_shift(shift, measured) for shift in shifts],
            }
        )

    def document(self) -> dict[str, Any]:
        """Return everything the page's script reads."""
        return {
            "lines": self._lines,
            "charts": self._charts,
            "runs": list(self._runs),
            "timelines": self._points,
            "averaged": self._averaged,
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

    def _timeline(self, run_id: str, step: str, points: Sequence[Sequence[float | None]]) -> int:
        """Return the index of a run's throughput, -1 without one; lines share what they share."""
        if not points:
            return -1
        known = self._timelines.setdefault((run_id, step), len(self._points))
        if known == len(self._points):
            self._points.append(timeline(points, self._averaged))
        return known


def medians(data: StepData, metric: str, positions: int) -> list[float | None]:
    """Return the median of a metric at every position, None where there is no value."""
    values: list[list[float]] = [[] for _ in range(positions)]
    for run in data.runs:
        if metric in run.values:
            values[run.position].append(run.values[metric])
    return [statistics.median(found) if found else None for found in values]


def timeline(points: Sequence[Sequence[float | None]], averaged: int) -> dict[str, Any]:
    """Return throughput over time for the page, ``averaged`` reports to a point.

    ``t`` are the seconds at which the reports ended (the last one's, where averaged), ``v``
    operations per second, and ``reports`` how many there were.
    """
    times, rates = [], []
    for start in range(0, len(points), averaged):
        chunk = points[start : start + averaged]
        known = [rate for point in chunk if (rate := point[1]) is not None]
        times.append(_short(chunk[-1][0]))
        rates.append(_short(statistics.fmean(known)) if known else None)
    return {"t": times, "v": rates, "reports": len(points)}


def embedded(document: Mapping[str, Any]) -> str:
    """Return a document as JSON that can stand inside a script element.

    Nothing in it can end the element or begin a comment, whatever the values say.
    """
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


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
        "text": percent(shift.effect),
        "interval": f"{percent(shift.effect_low)} to {percent(shift.effect_high)}",
    }


def _short(value: float | None) -> float | None:
    """Keep the digits that can be seen; JSON has no infinity and no NaN."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{_DIGITS}g}") if abs(value) < 10**_DIGITS else float(round(value))
    return int(short) if short.is_integer() else short
