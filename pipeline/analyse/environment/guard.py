"""What remains of a machine's change in a series is the machine's, and no regression."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pipeline.analyse.environment.calibrate import Calibration, Measured, alike
from pipeline.analyse.environment.panel import Place
from pipeline.model import Point, RegressionKind, Series, SeriesKey, Shift

MISSED = 0.5
"""What part of a machine's change calibration may have missed in a series whose step the control
measures, too. A revision need not feel a kernel as the pinned one does."""

BESIDE = 10
"""Positions before and behind a shift from which its machines are counted."""


class _Side(NamedTuple):
    """What one machine measured beside a shift: its points before and behind."""

    before: list[Point]
    after: list[Point]


def excused(
    shift: Shift, series: Series, runs: Mapping[str, Measured], calibration: Calibration
) -> Place | None:
    """Return the machine whose own change a shift may be; None if it is more than that.

    It may be if a machine changed between the runs around it, and the shift is not clearly larger
    (by its interval) than what that can have done to the mean of all machines.
    """
    if shift.kind is not RegressionKind.LEVEL:
        return None
    sides = _sides(shift, series, runs)
    reach: dict[Place, float] = {}
    counted = sum(len(side.after) for side in sides.values())
    for place, side in sides.items():
        share = max(len(side.after) / max(counted, 1), _share_before(side, sides))
        moved = _moved(place, side, series.key, runs, calibration)
        reach[place] = share * math.expm1(moved)
    if not reach:
        return None
    least = max(min(abs(shift.effect_low), abs(shift.effect_high)), 0.0)
    if shift.effect_low <= 0.0 <= shift.effect_high:
        least = 0.0
    total = sum(reach.values())
    if total == 0.0 or least > total:
        return None
    return max(reach, key=lambda place: reach[place])


def _share_before(side: _Side, sides: Mapping[Place, _Side]) -> float:
    return len(side.before) / max(sum(len(each.before) for each in sides.values()), 1)


def _sides(shift: Shift, series: Series, runs: Mapping[str, Measured]) -> dict[Place, _Side]:
    positions = sorted({point.position for point in series.points})
    before = set([at for at in positions if at < shift.earliest][-BESIDE:])
    after = set([at for at in positions if at >= shift.latest][:BESIDE])
    sides: dict[Place, _Side] = {}
    for point in series.points:
        run = runs.get(point.run_id)
        if run is not None and (point.position in before or point.position in after):
            side = sides.setdefault(run.place, _Side([], []))
            (side.before if point.position in before else side.after).append(point)
    return sides


def _moved(
    place: Place,
    side: _Side,
    key: SeriesKey,
    runs: Mapping[str, Measured],
    calibration: Calibration,
) -> float:
    """Return how far (a logarithm) calibration may be wrong about what a machine did meanwhile."""
    standing = calibration.standing(place)
    if standing is None:
        return 0.0
    figures, own = alike(standing.panel.figures, key)
    if not figures:
        return 0.0
    if side.before and side.after:
        last = calibration.night(runs[side.before[-1].run_id])
        first = calibration.night(runs[side.after[0].run_id])
        parts = standing.fit.sizes[figures] * np.abs(
            standing.fit.courses[:, first] - standing.fit.courses[:, last]
        )
        apart = np.abs(parts).sum(axis=1)
    else:
        # A machine that came or went: the mean of all moves by how far it is from the others.
        point = (side.before or side.after)[0]
        apart = np.abs(standing.levels[figures, calibration.night(runs[point.run_id])])
    return MISSED * float(apart.mean()) if own else float(apart.max())
