"""Runs over time: throughput, and what the DBMS did meanwhile, on one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.report.page.activity import moved, wording
from pipeline.report.page.data import LineData, Setup, StepData, StepRun
from pipeline.report.page.thin import thin, without_level
from pipeline.report.page.wording import short
from pipeline.store.derive.stalls import stalls
from pipeline.store.derive.variance import SHORTEST_TIMELINE

MOST_THROUGHPUT = 300_000
"""Points of throughput in a page; with more, lines are thinned.
A point takes about twelve bytes, so this is less than what the chart library takes."""

MOST_ACTIVITY = 300_000
"""Points of activity in a page."""

MOST_POINTS = 1200
"""Points of one line: two for each pixel that a chart is wide."""


class OverTime:
    """Collects the runs of a page; a run that several lines share is kept once."""

    def __init__(self, lines: Sequence[LineData]) -> None:
        steps = [
            (part.setup, step) for line in lines for part in line.setups for step in part.steps
        ]
        self._fields: dict[tuple[Setup, str], list[str]] = {}
        self._names: dict[str, int] = {}
        runs: dict[tuple[str, str], int] = {}
        for setup, step in steps:
            key = (setup, step.step.name)
            shown = moved(run.outcome.activity for run in step.runs)
            known = self._fields.setdefault(key, [])
            known += [name for name in shown if name not in known]
            for name in shown:
                self._names.setdefault(name, len(self._names))
            runs |= {(run.run_id, step.step.name): len(shown) for run in step.runs if run.timeline}
        self._throughput = min(MOST_POINTS, MOST_THROUGHPUT // max(1, len(runs)))
        self._activity = min(MOST_POINTS, MOST_ACTIVITY // max(1, sum(runs.values())))
        self._kept: dict[tuple[str, str], int] = {}
        self._found: list[dict[str, Any]] = []

    def fields(self, setup: Setup, step: StepData) -> list[int]:
        """Return which fields moved in a step, as indices into those of the page."""
        return [self._names[name] for name in self._fields[setup, step.step.name]]

    def add(self, setup: Setup, step: StepData, run: StepRun) -> int:
        """Add a step of a run and return its index; -1 where nothing was recorded over time."""
        if not run.timeline:
            return -1
        known = self._kept.setdefault((run.run_id, step.step.name), len(self._found))
        if known == len(self._found):
            self._found.append(self._over_time(run, self._fields[setup, step.step.name]))
        return known

    def document(self) -> dict[str, Any]:
        """Return the runs, and the fields in words."""
        return {
            "timelines": self._found,
            "fields": [wording(name)._asdict() | {"name": name} for name in self._names],
        }

    def _over_time(self, run: StepRun, fields: Sequence[str]) -> dict[str, Any]:
        points = run.timeline
        drawn: dict[str, Any] = _line(points, self._throughput)
        drawn["reports"] = len(points)
        drawn["thinned"] = len(drawn["t"]) < len(without_level(points))
        if len(points) >= SHORTEST_TIMELINE:
            drawn["stalls"] = [[short(since), short(until)] for since, until in stalls(points)]
        if run.outcome.marks and run.values.get("warming_s"):
            drawn["warming"] = short(run.values["warming_s"])
        drawn["activity"] = {
            self._names[name]: _line([(at, value) for at, value in told], self._activity)
            for name in fields
            if (told := run.outcome.activity.get(name))
        }
        return drawn


def _line(points: Sequence[tuple[float, float]], most: int) -> dict[str, Any]:
    """Return a line as it is drawn: ``t`` in seconds, and ``v``."""
    kept = thin(points, most)
    return {"t": [short(at) for at, _ in kept], "v": [short(value) for _, value in kept]}
