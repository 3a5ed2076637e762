"""The first page of the site: open regressions, worst first, and where each trend is now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.model import RegressionKind, RegressionState
from pipeline.model.metrics import METRICS, UNKNOWN_DIRECTION, Direction
from pipeline.regressions.detected import Detected
from pipeline.regressions.grouping import effect_size, worst
from pipeline.regressions.states import KnownRegression
from pipeline.site.downsample import thin
from pipeline.site.format import change, interval, short
from pipeline.site.setups import LineSetup
from pipeline.site.trends import Floats, Trend, median

SPARK_POINTS = 60
"""Maximum number of points of a sparkline: more than its width can show."""

_LOOK_FIRST = (
    RegressionState.CONFIRMED,
    RegressionState.SUSPECTED,
    RegressionState.ACKNOWLEDGED,
    RegressionState.WONT_FIX,
    RegressionState.REJECTED,
    RegressionState.RESOLVED,
)
"""States in order of urgency."""


def view_regressions(
    detected: Detected,
    known: Sequence[KnownRegression],
    trends: Mapping[tuple[str, LineSetup], str],
    issues: Mapping[str, str],
    explained: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return known regressions and improvements by state, the largest first.

    ``trends`` has the names of trends by line and setup, ``issues`` links and ``explained`` the
    data files of the pages by fingerprint.
    """
    rows = {row.regression.fingerprint: row for row in known}
    found = {one.fingerprint: one for one in detected.regressions}
    reported = {name: row.regression for name, row in rows.items()} | found
    views = []
    for regression in sorted(
        reported.values(),
        key=lambda one: (_LOOK_FIRST.index(one.state), not one.worse, -effect_size(worst(one))),
    ):
        largest = worst(regression)
        row = rows.get(regression.fingerprint)
        views.append(
            {
                "fingerprint": regression.fingerprint,
                "line": regression.line,
                "state": regression.state.value,
                "kind": "" if regression.kind is RegressionKind.LEVEL else regression.kind.value,
                "worse": regression.worse,
                "effect": change(largest),
                "interval": interval(largest),
                "step": largest.series.step,
                "metric": largest.series.metric,
                "series": len(regression.shifts),
                "steps": len({shift.series.step for shift in regression.shifts}),
                "last_good": regression.last_good,
                "first_bad": regression.first_bad,
                "culprit": str(regression.culprit) if regression.culprit else "",
                "note": row.note if row is not None else "",
                "trend": trends.get((regression.line, LineSetup.of(largest.series)), ""),
                "issue": issues.get(regression.fingerprint, ""),
                "explained": explained.get(regression.fingerprint, ""),
            }
        )
    return views


def view_groups(trend: Trend) -> list[dict[str, Any]]:
    """Return how each group of steps compares now with the first revision.

    The value of a group is the median over its steps. ``spark`` has (index of the revision, ratio),
    ``worst`` is the step with the worst present ratio.
    """
    if not trend.headline:
        return []
    ratios = relative(trend.medians(trend.headline))
    more = more_is_better(trend.headline)
    views = []
    for group in dict.fromkeys(step.group for step in trend.steps):
        places = [place for place, step in enumerate(trend.steps) if step.group == group]
        along = median(ratios[places].T)
        known = np.flatnonzero(~np.isnan(along)).tolist()
        if not known:
            continue
        newest = known[-1]
        of_steps = ratios[places, newest]
        least = int(np.nanargmin(of_steps) if more else np.nanargmax(of_steps))
        points = [(place, float(along[place])) for place in known]
        views.append(
            {
                "group": group,
                "steps": len(places),
                "newest": short(float(along[newest])),
                "at": newest,
                "worst": {
                    "step": trend.steps[places[least]].name,
                    "ratio": short(float(of_steps[least])),
                },
                "spark": [[place, short(value)] for place, value in thin(points, SPARK_POINTS)],
            }
        )
    return views


def relative(medians: Floats) -> Floats:
    """Return values divided by that of the first revision; NaN if it has no value."""
    base = np.where(medians[:, :1] == 0, np.nan, medians[:, :1])
    ratios: Floats = (medians / base).astype(np.float32, copy=False)
    return ratios


def more_is_better(metric: str) -> bool:
    """Return whether a higher value of a metric is better."""
    known = METRICS.get(metric)
    direction = known.direction if known is not None else UNKNOWN_DIRECTION
    return direction is Direction.MORE_IS_BETTER
