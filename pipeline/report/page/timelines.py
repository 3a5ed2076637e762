"""The runs over time of a whole page, each once."""

from __future__ import annotations

from typing import Any

from pipeline.report.page.activity import in_order, wording
from pipeline.report.page.data import StepData, StepRun
from pipeline.report.thin import Points
from pipeline.report.wording import short


class Timelines:
    """Collects the runs of a page; one that several lines share is kept once."""

    def __init__(self) -> None:
        self._fields: dict[str, int] = {}
        self._kept: dict[tuple[str, str], int] = {}
        self._found: list[dict[str, Any]] = []

    def fields(self, step: StepData) -> list[int]:
        """Return which fields moved in a step, as indices into those of the page."""
        moved = {name for run in step.runs for name in run.over_time.moved}
        return [self._field(name) for name in in_order(moved)]

    def add(self, step: str, run: StepRun) -> int:
        """Add a step of a run and return its index; -1 where nothing was recorded over time."""
        if not run.over_time.throughput:
            return -1
        known = self._kept.setdefault((run.run_id, step), len(self._found))
        if known == len(self._found):
            self._found.append(self._drawn(run))
        return known

    def document(self) -> dict[str, Any]:
        """Return the runs, and the fields in words."""
        return {
            "timelines": self._found,
            "fields": [wording(name)._asdict() | {"name": name} for name in self._fields],
        }

    def _field(self, name: str) -> int:
        return self._fields.setdefault(name, len(self._fields))

    def _drawn(self, run: StepRun) -> dict[str, Any]:
        over_time = run.over_time
        drawn = _line(over_time.throughput) | {
            "reports": over_time.reports,
            "thinned": over_time.thinned,
            "stalls": [[short(since), short(until)] for since, until in over_time.stalls],
            "activity": {
                self._field(name): _line(points) for name, points in over_time.activity.items()
            },
        }
        if run.marks and run.values.get("warming_s"):
            drawn["warming"] = short(run.values["warming_s"])
        return drawn


def _line(points: Points) -> dict[str, Any]:
    return {"t": [short(at) for at, _ in points], "v": [short(value) for _, value in points]}
