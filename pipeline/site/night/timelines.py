"""The runs of a night's report over time: throughput and what the DBMS did, second by second."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.site.downsample import Points, thin, without_level
from pipeline.site.format import short
from pipeline.site.night.activity import in_order, moves, wording
from pipeline.storage.derive.stalls import stalls
from pipeline.storage.derive.variance import SHORTEST_TIMELINE
from pipeline.storage.steps import StepOutcome

MOST_THROUGHPUT = 300_000
"""Maximum number of throughput points in a page; with more, lines are thinned. A point takes about
twelve bytes, so all points take less space than the chart library."""

MOST_ACTIVITY = 300_000
"""Maximum number of activity points in a page."""

MOST_POINTS = 1200
"""Maximum number of points of one line: two for each pixel of a chart's width."""


@dataclass(frozen=True, slots=True)
class OverTime:
    """The lines that a page draws for one run over time.

    ``throughput`` is in operations per second, from ``reports`` reported values; ``thinned`` if
    visible points were removed. ``stalls`` are (from, to) in seconds. ``activity`` is by field;
    ``moved`` are the fields that varied.
    """

    throughput: Points = ()
    reports: int = 0
    thinned: bool = False
    stalls: Points = ()
    activity: Mapping[str, Points] = field(default_factory=dict)
    moved: frozenset[str] = frozenset()


def over_time(outcome: StepOutcome, share: float) -> OverTime:
    """Return the lines to draw for a step of a run, with a ``share`` of a page's points.

    Of constant fields only the two ends are kept, for comparison with other fields.
    """
    reports = [
        (at, rate) for at, rate, _ in outcome.timeline if at is not None and rate is not None
    ]
    if not reports:
        return OverTime()
    throughput = thin(reports, min(MOST_POINTS, int(MOST_THROUGHPUT * share)))
    reported = {name: points for name, points in outcome.activity.items() if points}
    moved = frozenset(name for name, points in reported.items() if moves([v for _, v in points]))
    most = min(MOST_POINTS, int(MOST_ACTIVITY * share) // max(1, len(moved)))
    return OverTime(
        throughput=throughput,
        reports=len(reports),
        thinned=len(throughput) < len(without_level(reports)),
        stalls=stalls(reports) if len(reports) >= SHORTEST_TIMELINE else (),
        activity={
            name: thin(points, most) if name in moved else [points[0], points[-1]]
            for name, points in reported.items()
        },
        moved=moved,
    )


class Timelines:
    """Collects the timelines of all runs that a page draws; each run is kept only once."""

    def __init__(self) -> None:
        self._fields: dict[str, int] = {}
        self._kept: dict[tuple[str, str], int] = {}
        self._found: list[dict[str, Any]] = []

    def fields(self, moved: Collection[str]) -> list[int]:
        """Return the numbers, in the page's data, of the activities that changed during a step."""
        return [self._field(name) for name in in_order(moved)]

    def add(self, run_id: str, step: str, drawn: OverTime, warming: float | None) -> int:
        """Add a step of a run and return its number; -1 if nothing was recorded over time.

        ``warming`` is the time in seconds until a marked step was steady.
        """
        if not drawn.throughput:
            return -1
        known = self._kept.setdefault((run_id, step), len(self._found))
        if known == len(self._found):
            self._found.append(self._view(drawn, warming))
        return known

    def document(self) -> dict[str, Any]:
        """Return all runs over time for the page, with descriptions of the activities."""
        return {
            "timelines": self._found,
            "fields": [wording(name)._asdict() | {"name": name} for name in self._fields],
        }

    def _field(self, name: str) -> int:
        return self._fields.setdefault(name, len(self._fields))

    def _view(self, drawn: OverTime, warming: float | None) -> dict[str, Any]:
        view = _line(drawn.throughput) | {
            "reports": drawn.reports,
            "thinned": drawn.thinned,
            "stalls": [[short(since), short(until)] for since, until in drawn.stalls],
            "activity": {
                self._field(name): _line(points) for name, points in drawn.activity.items()
            },
        }
        return view | {"warming": short(warming)} if warming else view


def _line(points: Points) -> dict[str, Any]:
    return {"t": [short(at) for at, _ in points], "v": [short(value) for _, value in points]}
