"""Excuse regressions that a change of their machine may explain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pipeline.environment.calibrate import Calibration, RunPlace, alike
from pipeline.environment.panel import ClassMachine, ControlFigure
from pipeline.model import RegressionKind, SeriesKey, Shift
from pipeline.storage.series import Point, Series

MISSED = 0.5
"""Share of a machine's change that calibration may fail to remove from a series, even if a control
measures the series' own step: a revision need not react to a kernel update as the pinned control
does."""

BESIDE = 10
"""Number of positions on each side of a shift whose runs show which machines measured the shift."""


class _Side(NamedTuple):
    """The values that one machine measured before and after a change of a series."""

    before: list[Point]
    after: list[Point]


class _MachineBias(NamedTuple):
    """How much machines that joined or left may move a series, and which one matters most."""

    place: ClassMachine
    reach: float


def excused(
    shift: Shift, series: Series, runs: Mapping[str, RunPlace], calibration: Calibration
) -> ClassMachine | None:
    """Return the machine whose change may explain a shift; None if no machine change can.

    A machine may explain the shift if it changed, joined or left between the runs before and after
    the shift. None can if even the low end of the shift's interval exceeds the total effect of all
    machines.
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
    came = _joining_bias(sides, series.key, runs, calibration)
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


def _shares(side: _Side, sides: Mapping[ClassMachine, _Side]) -> tuple[float, float]:
    """Return one machine's share of the values before and after a shift, each from 0 to 1."""
    before = sum(len(each.before) for each in sides.values())
    after = sum(len(each.after) for each in sides.values())
    return len(side.before) / max(before, 1), len(side.after) / max(after, 1)


def _sides(shift: Shift, series: Series, runs: Mapping[str, RunPlace]) -> dict[ClassMachine, _Side]:
    positions = sorted({point.position for point in series.points})
    before = set([at for at in positions if at < shift.earliest][-BESIDE:])
    after = set([at for at in positions if at >= shift.latest][:BESIDE])
    sides: dict[ClassMachine, _Side] = {}
    for point in series.points:
        run = runs.get(point.run_id)
        if run is not None and (point.position in before or point.position in after):
            side = sides.setdefault(run.place, _Side([], []))
            (side.before if point.position in before else side.after).append(point)
    return sides


def _moved(
    place: ClassMachine,
    side: _Side,
    key: SeriesKey,
    runs: Mapping[str, RunPlace],
    calibration: Calibration,
) -> float:
    """Return the possible error in calibrating one machine's values at a shift (a logarithm).

    The error follows from the changes of the machine between its last run before the shift and its
    first run after the shift. The machine must have runs on both sides.
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


def _joining_bias(
    sides: Mapping[ClassMachine, _Side],
    key: SeriesKey,
    runs: Mapping[str, RunPlace],
    calibration: Calibration,
) -> _MachineBias | None:
    """Return how much machines that joined or left may move a series; None if there are none.

    The mean moves by the difference between machines that joined and those that left, not by their
    distances from the class. Among servers rented anew every night, these offsets cancel.
    """
    own_steps, others = 0.0, dict[ControlFigure, float]()
    farthest: dict[ClassMachine, float] = {}
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
    return _MachineBias(
        place=max(farthest, key=lambda place: farthest[place]),
        reach=math.expm1(MISSED * abs(own_steps) + worst),
    )
