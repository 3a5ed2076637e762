"""What remains of a machine's change in a series is the machine's, and no regression."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pipeline.analyse.environment.calibrate import Calibration, Measured, alike
from pipeline.analyse.environment.panel import Figure, Place
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


class _Came(NamedTuple):
    """What machines that came or went may have left in a mean, and the one that is most of it."""

    place: Place
    reach: float


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
    reach = {
        place: max(_shares(side, sides))
        * math.expm1(_moved(place, side, series.key, runs, calibration))
        for place, side in sides.items()
        if side.before and side.after
    }
    total = sum(reach.values())
    came = _came(sides, series.key, runs, calibration)
    if came is not None:
        total += came.reach
        reach[came.place] = came.reach
    if total == 0.0:
        return None
    least = min(abs(shift.effect_low), abs(shift.effect_high))
    if shift.effect_low <= 0.0 <= shift.effect_high:
        least = 0.0
    if least > total:
        return None
    return max(reach, key=lambda place: reach[place])


def _shares(side: _Side, sides: Mapping[Place, _Side]) -> tuple[float, float]:
    """Return what share of the points before and behind is of one machine."""
    before = sum(len(each.before) for each in sides.values())
    after = sum(len(each.after) for each in sides.values())
    return len(side.before) / max(before, 1), len(side.after) / max(after, 1)


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
    """Return how far (a logarithm) calibration may be wrong about what a machine did meanwhile.

    Of one that measured on both sides.
    """
    standing = calibration.standing(place)
    if standing is None:
        return 0.0
    figures, own = alike(standing.panel.figures, key)
    if not figures:
        return 0.0
    last = calibration.night(runs[side.before[-1].run_id])
    first = calibration.night(runs[side.after[0].run_id])
    parts = standing.fit.sizes[figures] * np.abs(
        standing.fit.courses[:, first] - standing.fit.courses[:, last]
    )
    apart = np.abs(parts).sum(axis=1)
    return MISSED * float(apart.mean()) if own else float(apart.max())


def _came(
    sides: Mapping[Place, _Side],
    key: SeriesKey,
    runs: Mapping[str, Measured],
    calibration: Calibration,
) -> _Came | None:
    """Return what the machines that came or went may have left in the mean; None without any.

    The mean moves by how far those that came are from those that went, not by how far each is from
    its class: of servers that are new every night the one half makes up for the other.
    """
    own_steps, others = 0.0, dict[Figure, float]()
    farthest: dict[Place, float] = {}
    for place, side in sides.items():
        standing = calibration.standing(place)
        if standing is None or (side.before and side.after):
            continue
        figures, own = alike(standing.panel.figures, key)
        if not figures:
            continue
        before, after = _shares(side, sides)
        point = (side.before or side.after)[0]
        levels = standing.levels[figures, calibration.night(runs[point.run_id])]
        parts = (after - before) * levels
        farthest[place] = float(np.abs(parts).max())
        if own:
            own_steps += float(parts.mean())
        else:
            for at, part in zip(figures, parts.tolist(), strict=True):
                figure = standing.panel.figures[at]
                others[figure] = others.get(figure, 0.0) + part
    if not farthest:
        return None
    worst = max((abs(moved) for moved in others.values()), default=0.0)
    return _Came(
        place=max(farthest, key=lambda place: farthest[place]),
        reach=math.expm1(MISSED * abs(own_steps) + worst),
    )
