"""The change points that the charts of all pages show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from pipeline.model import Regression, Shift
from pipeline.site.format import change, interval
from pipeline.site.setups import LineSetup, Place


class ShownChange(NamedTuple):
    """A change point in a chart, and the regression that it belongs to."""

    regression: Regression
    shift: Shift


def changes_at(regressions: Iterable[Regression]) -> dict[Place, list[ShownChange]]:
    """Return the change points of every chart, ordered by position."""
    found: dict[Place, list[ShownChange]] = {}
    for regression in regressions:
        for shift in regression.shifts:
            place = (regression.line, LineSetup.of(shift.series), shift.series.step)
            found.setdefault(place, []).append(ShownChange(regression, shift))
    for points in found.values():
        points.sort(key=lambda point: point.shift.position)
    return found


def view_change(point: ShownChange, at: int, after: int, latest: int) -> dict[str, Any]:
    """Return a change point as JSON for a chart.

    ``at`` is the most likely position. The change lies after the revision ``after``, and at
    ``latest`` at the latest.
    """
    return {
        "metric": point.shift.series.metric,
        "at": at,
        "after": after,
        "latest": latest,
        "worse": point.shift.worse,
        "text": change(point.shift),
        "interval": interval(point.shift),
        "state": point.regression.state.value,
    }
