"""Changes in a ladder (a short series of single values) without noise known from other series.

Each number of changes has a best segmentation, found by dynamic programming. The result is the
segmentation with the most changes in which each change passes Student's t, with the noise of the
segments. As for a ladder whose noise is known (ladder.py), the order of the values must matter,
too: with noise of any shape and values in random order, at most one ladder in a hundred passes.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from changepoint.detection import ladder, power
from changepoint.detection.energy import MIN_VALUES
from changepoint.detection.method import FoundChange, MethodResult, Request
from changepoint.jit import compiled
from changepoint.series import RESOLUTION, Floats, GroupedSeries, Ints

FEWEST = 8
"""Fewest positions of a ladder: with fewer, no order of the values is rare enough."""

PER_CHANGE = 3
"""Fewest positions for each change: with fewer, the segments are too short to show the noise."""

UNKNOWN = 1.06
"""Smallest step that is found without known noise, divided by the smallest one with it; simulated:
``python -m changepoint.evaluate power``."""


def find(series: GroupedSeries, request: Request) -> MethodResult:
    """Find the changes of a ladder without known noise, after averaging values of a position."""
    values = ladder.position_values(series)
    probability = ladder.probability_of(request)
    needs = partial(_needed, len(values), probability)
    found = _changes(values, probability, request)
    return MethodResult(tuple(found), probability, needs)


def _needed(positions: int, probability: float, tails: float, behind: int) -> float:
    """Return the smallest step that can be detected in a ladder with unknown noise."""
    known = ladder.needed(positions, probability, positions - 2.0, tails, behind)
    return UNKNOWN * (1.0 + power.TAILS * tails) * known


def _changes(values: Floats, probability: float, request: Request) -> list[FoundChange]:
    """Return the changes of the segmentation with the most changes that are all significant."""
    phi = request.autocorrelation or 0.0
    segmentations, errors = _segmentations(values, len(values) // PER_CHANGE)
    for changes in range(len(errors) - 1, 0, -1):
        degrees = len(values) - changes - 1.0
        if not math.isfinite(errors[changes]):
            continue
        edges = segmentations[changes, : changes + 2]
        scale = max(math.sqrt(errors[changes] / degrees), RESOLUTION)
        pvalues = ladder.pvalues_of(values, edges, scale, degrees, phi)
        if np.max(pvalues) <= probability:
            return ladder.ordered(values, edges, pvalues, request.seed)
    return []


@compiled
def _segmentations(values: Floats, most: int) -> tuple[Ints, Floats]:
    """Return the best way to cut a ladder for each number of changes up to ``most``.

    Edges (most + 1, most + 2), from 0 to n, and squared errors (most + 1,): infinite if the values
    are too few.
    """
    n = len(values)
    sums = np.concatenate((np.zeros(1), np.cumsum(values)))
    squares = np.concatenate((np.zeros(1), np.cumsum(values * values)))
    least = np.full((most + 2, n + 1), np.inf)
    start = np.zeros((most + 2, n + 1), np.int64)
    least[0, 0] = 0.0
    for k in range(1, most + 2):
        for stop in range(MIN_VALUES * k, n + 1):
            for a in range(MIN_VALUES * (k - 1), stop - MIN_VALUES + 1):
                total = sums[stop] - sums[a]
                error = squares[stop] - squares[a] - total * total / (stop - a)
                cost = least[k - 1, a] + max(error, 0.0)
                if cost < least[k, stop]:
                    least[k, stop], start[k, stop] = cost, a
    edges = np.zeros((most + 1, most + 2), np.int64)
    for changes in range(most + 1):
        at = n
        for k in range(changes + 1, 0, -1):
            edges[changes, k] = at
            at = start[k, at]
    return edges, least[1:, n].copy()
