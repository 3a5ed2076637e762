"""The default method: a robust scan for changes of level, calibrated in nights.

One value per position (the mean of its replicates, spikes among them moved back) goes through
the compiled search of segment.py. Short replicated ladders hold too few positions for it, and
the method "edivisive", which uses what replicates say of each other, takes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from changepoint import calibration, edivisive, power
from changepoint.growing import changes, equal_neighbours, floor_of
from changepoint.method import Found, Outcome, Request
from changepoint.noise import clip_replicates
from changepoint.position_test import is_replicated
from changepoint.scan import LEAST
from changepoint.series import Floats, Series

LADDER = 20
"""Replicated series of at most this many positions are ladders, measured at once."""

LEAST_REPLICATED = 2
"""Positions a side must have where each is several runs: a spike is no longer a whole position."""

LEEWAY = 2.0
"""How much further the mean of replicates may stick out than a single value before it is clipped:
spikes among replicates have been moved back already."""


def find(series: Series, request: Request) -> Outcome:
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


def outcome(positions: int, limit: float, changes: Iterable[tuple[int, float]]) -> Outcome:
    """What a search says that found changes, place and strength of each, at a limit."""
    found = (Found(at, calibration.pvalue(positions, strength)) for at, strength in changes)
    needs = partial(power.by_scan, positions, limit)
    return Outcome(tuple(found), calibration.pvalue(positions, limit), needs)


def position_values(series: Series) -> Floats:
    """One value per position, (positions,): the mean of its replicates after clipping."""
    if series.positions == len(series.scaled):
        return series.scaled
    clipped = clip_replicates(series.scaled, series.offsets)
    sums = np.add.reduceat(clipped, series.offsets[:-1])
    return np.asarray(sums / np.diff(series.offsets), dtype=np.float64)
