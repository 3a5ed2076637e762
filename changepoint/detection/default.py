"""The default method: a robust scan for changes of level, calibrated per night.

The compiled search of segment.py runs on one value per position, the mean of its replicates after
clipping spikes. Short replicated ladders have too few positions for it; the method "edivisive",
which uses the noise between replicates, handles them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from changepoint.detection import calibration, edivisive, power
from changepoint.detection.between_positions import is_replicated
from changepoint.detection.growing import changes, equal_neighbours, floor_of
from changepoint.detection.method import FoundChange, MethodResult, Request
from changepoint.detection.scan import LEAST
from changepoint.noise import clip_replicates
from changepoint.series import Floats, GroupedSeries

LADDER = 20
"""Maximum positions of a ladder: a replicated series that is measured at once."""

LEAST_REPLICATED = 2
"""Minimum positions of a side with several runs per position: a spike no longer affects a whole
position."""

LEEWAY = 2.0
"""Factor for clipping means of replicates, relative to single values: spikes among replicates have
already been clipped."""


def find(series: GroupedSeries, request: Request) -> MethodResult:
    """The changes of a series in order. Only ladders use the seed."""
    counts = np.diff(series.offsets)
    replicated = is_replicated(counts)
    if replicated and series.positions <= LADDER:
        return edivisive.find(series, request)
    limit = calibration.limit(series.positions, request.alarms_per_1000)
    least = LEAST_REPLICATED if replicated else LEAST
    if series.positions < 2 * least:
        return outcome(series.positions, limit, ())
    values = position_values(series)
    floor = floor_of(values, equal_neighbours(values))
    places, strengths = changes(values, limit, floor, least, LEEWAY if replicated else 1.0)
    return outcome(series.positions, limit, zip(places.tolist(), strengths.tolist(), strict=True))


def outcome(positions: int, limit: float, changes: Iterable[tuple[int, float]]) -> MethodResult:
    """The result of a search from the place and strength of each change, and its limit."""
    found = (FoundChange(at, calibration.pvalue(positions, strength)) for at, strength in changes)
    needs = partial(power.by_scan, positions, limit)
    return MethodResult(tuple(found), calibration.pvalue(positions, limit), needs)


def position_values(series: GroupedSeries) -> Floats:
    """One value per position, (positions,): the mean of its replicates after clipping."""
    if series.positions == len(series.scaled):
        return series.scaled
    clipped = clip_replicates(series.scaled, series.offsets)
    sums = np.add.reduceat(clipped, series.offsets[:-1])
    return np.asarray(sums / np.diff(series.offsets), dtype=np.float64)
