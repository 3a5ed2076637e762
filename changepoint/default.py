"""The default method: a robust scan for changes of level, calibrated in nights.

One value per position (the mean of its replicates, spikes among them moved back) goes through
the compiled search of segment.py. Short replicated ladders hold too few positions for it, and
the method "edivisive", which uses what replicates say of each other, takes them.
"""

from __future__ import annotations

import numpy as np

from changepoint import calibration, edivisive
from changepoint.growing import changes
from changepoint.method import Found, Outcome, Request
from changepoint.noise import clip_replicates
from changepoint.position_test import is_replicated
from changepoint.scan import LEAST, RAMP_MARGIN
from changepoint.series import RESOLUTION, Floats, Series

LADDER = 20
"""Replicated series of at most this many positions are ladders, measured at once."""

LEAST_REPLICATED = 2
"""Positions a side must have where each is several runs: a spike is no longer a whole position."""

LEEWAY = 2.0
"""How much further the mean of replicates may stick out than a single value before it is clipped:
spikes among replicates have been moved back already."""

REPEATS = 0.5
"""Share of neighbours that are equal from which on values count as quantised: then no deviation
below half the smallest difference is believed, as nobody can have seen one."""


def find(series: Series, request: Request) -> Outcome:
    """The changes of a series in order. Only ladders use the seed."""
    counts = np.diff(series.offsets)
    replicated = series.positions > 0 and is_replicated(counts)
    if replicated and series.positions <= LADDER:
        return edivisive.find(series, request)
    limit = calibration.limit(series.positions, request.alarms_per_1000)
    probability = calibration.pvalue(series.positions, limit)
    # In the middle a line explains three quarters of what a step does, so the guard against ramps
    # may ask for more than the limit.
    middle = max(limit, 4.0 * RAMP_MARGIN)
    least = LEAST_REPLICATED if replicated else LEAST
    if series.positions < 2 * least:
        return Outcome((), probability, middle)
    values = position_values(series)
    floor = max(_floor(values), RESOLUTION)
    places, strengths = changes(values, limit, floor, least, LEEWAY if replicated else 1.0)
    found = tuple(
        Found(int(at), calibration.pvalue(series.positions, float(strength)))
        for at, strength in zip(places, strengths, strict=True)
    )
    return Outcome(found, probability, middle)


def position_values(series: Series) -> Floats:
    """One value per position, (positions,): the mean of its replicates after clipping."""
    if series.positions == len(series.scaled):
        return series.scaled
    clipped = clip_replicates(series.scaled, series.offsets)
    sums = np.add.reduceat(clipped, series.offsets[:-1])
    return np.asarray(sums / np.diff(series.offsets), dtype=np.float64)


def _floor(values: Floats) -> float:
    """Half the quantum if most neighbours are equal, otherwise 0."""
    equal = np.abs(np.diff(values)) <= RESOLUTION
    if float(np.mean(equal)) < REPEATS:
        return 0.0
    gaps = np.diff(np.sort(values))
    smallest = float(np.min(gaps[gaps > RESOLUTION], initial=np.inf))
    return 0.5 * smallest if np.isfinite(smallest) else 0.0
