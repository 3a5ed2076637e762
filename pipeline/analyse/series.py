"""From measurements to series along a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.model import Point, Series, SeriesKey, StepStatus
from pipeline.store.queries import Row

SLA_METRICS = frozenset({"sla", "inserts/s", "deletes/s"})
"""Metrics of the work beside what a step measures."""


def series_along(line: str, revisions: Sequence[str], rows: Iterable[Row]) -> list[Series]:
    """Return the series of a line, in the order in which their steps were run.

    ``revisions`` are the labels of the line in order; rows of others are passed over. The
    points of a series are ordered by position, then by repetition. A step that failed its SLA
    has points only of what the SLA is about: its other figures are of another load. One that was
    disturbed has a point only where no repetition of it was not: that of a machine that is
    disturbed always is better than none.
    """
    position = {label: place for place, label in enumerate(revisions)}
    points: dict[SeriesKey, list[tuple[bool, Point]]] = {}
    for row in rows:
        place = position.get(row.revision)
        if place is None or (row.status == StepStatus.SLA_FAILED and row.metric not in SLA_METRICS):
            continue
        key = SeriesKey(
            line=line,
            target=row.target,
            config=row.config,
            build_options=row.build_options,
            machine_class=row.machine_class,
            workload=row.workload,
            workload_hash=row.workload_hash,
            clients=row.clients,
            step=row.step,
            group=row.group,
            unit=row.unit,
            metric=row.metric,
        )
        points.setdefault(key, []).append(
            (
                row.disturbed,
                Point(
                    position=place,
                    revision=row.revision,
                    repetition=row.repetition,
                    value=row.value,
                    run_id=row.run_id,
                ),
            )
        )
    return [Series(key=key, points=_points(found)) for key, found in points.items()]


def _points(found: Sequence[tuple[bool, Point]]) -> tuple[Point, ...]:
    """Return the points in order, without those that were disturbed where there are others."""
    calm = {point.position for disturbed, point in found if not disturbed}
    kept = [point for disturbed, point in found if not (disturbed and point.position in calm)]
    return tuple(sorted(kept, key=lambda point: (point.position, point.repetition)))
