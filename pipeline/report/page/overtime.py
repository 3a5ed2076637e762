"""A step of a run over time: throughput, and what the DBMS did meanwhile, as it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.report.page.activity import moves
from pipeline.report.thin import Points, thin, without_level
from pipeline.store.derive.stalls import stalls
from pipeline.store.derive.variance import SHORTEST_TIMELINE
from pipeline.store.queries import StepOutcome

MOST_THROUGHPUT = 300_000
"""Points of throughput in a page; with more, lines are thinned.
A point takes about twelve bytes, so this is less than what the chart library takes."""

MOST_ACTIVITY = 300_000
"""Points of activity in a page."""

MOST_POINTS = 1200
"""Points of one line: two for each pixel that a chart is wide."""


@dataclass(frozen=True, slots=True)
class OverTime:
    """What is drawn of a run.

    ``throughput`` are operations per second, made of so many ``reports``, and ``thinned`` where
    some that could be seen are left out. ``stalls`` are (from, to) in seconds. ``activity`` is by
    field; ``moved`` are those fields that moved.
    """

    throughput: Points = ()
    reports: int = 0
    thinned: bool = False
    stalls: Points = ()
    activity: Mapping[str, Points] = field(default_factory=dict)
    moved: frozenset[str] = frozenset()


def over_time(outcome: StepOutcome, share: float) -> OverTime:
    """Return what is drawn of a step of a run, which has a ``share`` of the page's points.

    Of fields that stood still the two ends are kept, for what they are laid beside.
    """
    reports = [
        (at, rate) for at, rate, _ in outcome.timeline if at is not None and rate is not None
    ]
    if not reports:
        return OverTime()
    throughput = thin(reports, min(MOST_POINTS, int(MOST_THROUGHPUT * share)))
    told = {name: points for name, points in outcome.activity.items() if points}
    moved = frozenset(name for name, points in told.items() if moves([v for _, v in points]))
    most = min(MOST_POINTS, int(MOST_ACTIVITY * share) // max(1, len(moved)))
    return OverTime(
        throughput=throughput,
        reports=len(reports),
        thinned=len(throughput) < len(without_level(reports)),
        stalls=stalls(reports) if len(reports) >= SHORTEST_TIMELINE else (),
        activity={
            name: thin(points, most) if name in moved else [points[0], points[-1]]
            for name, points in told.items()
        },
        moved=moved,
    )
