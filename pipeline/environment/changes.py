"""Find changes of a machine in its controls: sudden steps and slow ramps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pipeline.environment.fit import LevelFit, MachineChange, courses, fit
from pipeline.environment.panel import Floats, Panel
from pipeline.environment.ramps import best_ramp
from pipeline.environment.steps import NEAR, steps_of

MOST_RAMPS = 3
"""Maximum number of ramps to search for in the controls of a machine. Three straight lines describe
a curved drift well."""


def changes_of(
    panel: Panel,
    updates: Sequence[int],
    deviation: Floats,
    alarms_per_1000: float,
    smallest: float,
) -> LevelFit:
    """Find every clear change of a machine, and fit each control figure's level between changes.

    ``updates`` are the nights with a changed fingerprint. Each of them is tried as a step, without
    a search, and kept if its effect is clear; it replaces steps that the search finds close by.
    ``deviation`` is (figures,), the standard deviation of a night; ``smallest`` is the smallest
    relative change of interest. Where a ramp and steps both fit, the better model by Schwarz's
    criterion is kept.
    """
    metrics = [figure.metric for figure in panel.figures]

    fixed = _placed((), updates)

    def with_steps(ramps: list[MachineChange]) -> LevelFit:
        """Fit these ramps, and the steps found after subtracting them."""
        known = fit(panel.means, [*ramps, *fixed], deviation)
        slow = known.sizes[:, : len(ramps)] @ known.courses[: len(ramps)]
        found = steps_of(panel.means - slow, metrics, alarms_per_1000, smallest)
        return fit(panel.means, [*ramps, *_placed(found, updates)], deviation)

    ramps: list[MachineChange] = []
    level = with_steps(ramps)
    while len(ramps) < MOST_RAMPS:
        # A ramp may replace detected steps, but no step at a changed fingerprint.
        known = courses([*ramps, *fixed], len(panel.nights))
        ramp = best_ramp(panel.means, known, deviation, smallest)
        if ramp is None:
            break
        other = with_steps([*ramps, ramp])
        if _cost(other) >= _cost(level):
            break
        ramps, level = [*ramps, ramp], other
    return _cleared(panel.means, level, smallest)


def _placed(found: Sequence[MachineChange], updates: Sequence[int]) -> list[MachineChange]:
    """Return a step for each night with a changed fingerprint, and the found steps not near one."""
    placed = {night: MachineChange(night, night, night, night) for night in updates}
    for step in found:
        if not any(step.earliest - NEAR <= night <= step.latest + NEAR for night in updates):
            placed.setdefault(step.first, step)
    return [placed[night] for night in sorted(placed)]


def _cleared(means: Floats, level: LevelFit, smallest: float) -> LevelFit:
    """Keep only the machine changes that move some control figure by ``smallest`` or more."""
    while True:
        largest = np.abs(level.sizes).max(axis=0, initial=0.0)
        kept = [
            each
            for each, size in zip(level.changes, largest, strict=True)
            if size >= math.log1p(smallest)
        ]
        if len(kept) == len(level.changes):
            return level
        level = fit(means, kept, level.deviation)


def _cost(level: LevelFit) -> float:
    """Return Schwarz's criterion of a fit: the residual noise plus a penalty for each change.

    The penalty counts the parameters of each change (Schwarz 1978): its size in each figure that it
    moves and, once for all figures, the nights that locate it (Yao 1988), one for a step and two
    for a ramp.
    """
    there = np.isfinite(level.residuals)
    left = np.nansum(level.residuals**2, axis=1) / level.deviation**2
    nights = max(int(there.sum(axis=1).max(initial=0)), 2)
    used = [change for change, size in zip(level.changes, level.sizes.T, strict=True) if size.any()]
    places = sum(2 if change.ramp else 1 for change in used)
    return float(left.sum() + (np.count_nonzero(level.sizes) + places) * math.log(nights))
