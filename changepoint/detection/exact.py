"""Changes in a series of exact values, such as counts: every difference above a floor is a change.

Counted instructions are such values: equal programs differ by at most the floor, whatever the
machine does. So one value on each side decides, the newest position included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from changepoint.model import ChangePoint, SegmentLevel


def exact_effect(before: float, after: float) -> float:
    """Return the relative change between two exact levels; 0 if both are zero."""
    if before == 0.0:
        return math.copysign(math.inf, after) if after else 0.0
    return (after - before) / abs(before)


def is_exact_change(effect: float, *, floor: float, min_effect: float) -> bool:
    """Whether a relative difference of exact values exceeds the floor and the smallest effect."""
    return abs(effect) > floor and abs(effect) >= min_effect


def exact_changes(
    values: Sequence[float] | NDArray[np.float64],
    *,
    positions: Sequence[int] | NDArray[np.int64],
    floor: float,
    min_effect: float,
) -> tuple[ChangePoint, ...]:
    """Return the changes between adjacent positions of a series of exact values.

    The level of a position is the median of its values. The ``effect_interval`` of a change is
    ``floor`` wide on each side, its p-value 0. If every step of a creep is smaller than the limits,
    the creep gives no change.

    Args:
        values: (n,) finite values.
        positions: (n,) the position of each value, ascending.
        floor: the largest relative difference between values of the same program.
        min_effect: smallest relative change to report.

    Raises:
        ValueError: a value is not finite, or the positions do not fit.
    """
    measured, places = np.asarray(values, dtype=np.float64), np.asarray(positions)
    if measured.shape != places.shape or (np.diff(places) < 0).any():
        raise ValueError("positions must ascend, one for each value")
    if not np.isfinite(measured).all():
        raise ValueError("values must be finite")
    found, starts = np.unique(places, return_index=True)
    levels = [
        SegmentLevel(float(np.median(part)), float(np.ptp(part)), len(part))
        for part in np.split(measured, starts[1:])
        if len(part)
    ]
    changes = []
    for at in range(1, len(found)):
        before, after = levels[at - 1], levels[at]
        effect = exact_effect(before.level, after.level)
        if is_exact_change(effect, floor=floor, min_effect=min_effect):
            place = int(found[at])
            changes.append(
                ChangePoint(
                    index=int(starts[at]),
                    position=place,
                    interval=(place, place),
                    before=before,
                    after=after,
                    effect=effect,
                    effect_interval=(effect - floor, effect + floor),
                    pvalue=0.0,
                )
            )
    return tuple(changes)
