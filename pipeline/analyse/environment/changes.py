"""When a machine changed: steps and ramps, told from one another, and what its fingerprint says."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pipeline.analyse.environment.fit import Change, Fit, courses, fit
from pipeline.analyse.environment.panel import Floats, Panel
from pipeline.analyse.environment.ramps import best_ramp
from pipeline.analyse.environment.steps import NEAR, steps_of

MOST_RAMPS = 3
"""Ramps that are looked for in one machine. A course that is bent is told well by three lines."""


def changes_of(
    panel: Panel,
    updates: Sequence[int],
    deviation: Floats,
    alarms_per_1000: float,
    smallest: float,
) -> Fit:
    """Return the levels of a machine's figures, with the changes that are clear in any of them.

    ``updates`` are the nights before which the fingerprint changed: there a step needs no search,
    only to be clear, and one that is found close by is there. ``deviation`` is (figures,), the
    noise of a night, ``smallest`` is the smallest
    relative change of interest. What can be told by a ramp or by steps is what costs less.
    """
    metrics = [figure.metric for figure in panel.figures]

    fixed = _placed((), updates)

    def with_steps(ramps: list[Change]) -> Fit:
        """Return the levels with these ramps, and the steps that are left then."""
        known = fit(panel.means, [*ramps, *fixed], deviation)
        slow = known.sizes[:, : len(ramps)] @ known.courses[: len(ramps)]
        found = steps_of(panel.means - slow, metrics, alarms_per_1000, smallest)
        return fit(panel.means, [*ramps, *_placed(found, updates)], deviation)

    ramps: list[Change] = []
    level = with_steps(ramps)
    while len(ramps) < MOST_RAMPS:
        # What is told by steps so far may be a ramp; what the fingerprint tells is none.
        known = courses([*ramps, *fixed], len(panel.nights))
        ramp = best_ramp(panel.means, known, deviation, smallest)
        if ramp is None:
            break
        other = with_steps([*ramps, ramp])
        if _cost(other) >= _cost(level):
            break
        ramps, level = [*ramps, ramp], other
    return _cleared(panel.means, level, smallest)


def _placed(found: Sequence[Change], updates: Sequence[int]) -> list[Change]:
    """Put steps where the fingerprint changed, if that may be their night."""
    placed = {night: Change(night, night, night, night) for night in updates}
    for step in found:
        if not any(step.earliest - NEAR <= night <= step.latest + NEAR for night in updates):
            placed.setdefault(step.first, step)
    return [placed[night] for night in sorted(placed)]


def _cleared(means: Floats, level: Fit, smallest: float) -> Fit:
    """Return the fit with the changes alone that move a figure by as much as is of interest."""
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


def _cost(level: Fit) -> float:
    """Return Schwarz's criterion: what is left in noise, and what the changes cost.

    A change has its nights, one of a step and two of a ramp, once for the machine, and a size for
    each figure that it moves (Schwarz 1978; nights count as parameters, Yao 1988).
    """
    there = np.isfinite(level.residuals)
    left = np.nansum(level.residuals**2, axis=1) / level.deviation**2
    nights = max(int(there.sum(axis=1).max(initial=0)), 2)
    used = [change for change, size in zip(level.changes, level.sizes.T, strict=True) if size.any()]
    places = sum(2 if change.ramp else 1 for change in used)
    return float(left.sum() + (np.count_nonzero(level.sizes) + places) * math.log(nights))
