"""Slow drifts of a machine over weeks, such as those of a failing disk."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pipeline.environment.fit import MachineChange
from pipeline.environment.noise import autocorrelation, clipped
from pipeline.environment.panel import Floats

SHORTEST = 10
"""Nights of the shortest ramp. A change within fewer nights counts as a step, which describes it
equally well."""

EVIDENCE = 25.0
"""Smallest evidence of a ramp in one figure: the squared error that it explains, in variances of a
night. In a search among about a thousand strongly correlated ramps, normal noise reaches this
evidence in less than one of 10,000 cases."""

KNOTS = 40
"""Number of nights at which ramps may begin and end. A ramp that begins or ends between these knots
loses less than a hundredth of the squared error that it explains."""


def best_ramp(
    values: Floats, known: Floats, deviation: Floats, smallest: float
) -> MachineChange | None:
    """Return the slow drift that best explains a machine's controls; None if none is clear.

    Values are (figures, nights).

    ``known`` (changes, nights) are the courses of known changes; their sizes are fitted together
    with the ramp's. ``deviation`` is (figures,), the standard deviation of a night. A figure takes
    part if the ramp is evident in it and moves it by at least ``smallest``.
    """
    nights = values.shape[1]
    deviation = deviation * math.sqrt(_inflation(values))
    knots = np.unique(np.linspace(0, nights - 1, min(nights, KNOTS)).round().astype(int)).tolist()
    best = _best(values, known, deviation, smallest, knots, knots)
    if best is None:
        return None
    # Refine the search between the knots around the best ramp.
    near = range(-(nights // KNOTS) - 1, nights // KNOTS + 2)
    begins = [best.first + by for by in near if 0 <= best.first + by < nights]
    ends = [best.last + by for by in near if 0 <= best.last + by < nights]
    return _best(values, known, deviation, smallest, begins, ends)


def _best(
    values: Floats,
    known: Floats,
    deviation: Floats,
    smallest: float,
    begins: Sequence[int],
    ends: Sequence[int],
) -> MachineChange | None:
    """Return the best drift among those with the given first and last nights."""
    candidates = [
        MachineChange(first, last, first, first)
        for first in begins
        for last in ends
        if last - first >= SHORTEST
    ]
    if not candidates:
        return None
    nights = values.shape[1]
    firsts = np.array([[each.first] for each in candidates])
    lasts = np.array([[each.last] for each in candidates])
    courses = np.clip((np.arange(nights) - firsts) / (lasts - firsts), 0.0, 1.0)
    evidence = np.zeros(len(candidates))
    for row, noise in zip(values, deviation, strict=True):
        there = np.isfinite(row)
        # Clip single outlying nights: they are no ramp.
        smooth = _smoothed(row[there])
        measured = smooth + clipped(row[there] - smooth, float(noise))
        # Regress both on a level and the known changes, and keep the residuals (Frisch and Waugh
        # 1933).
        beside = np.vstack([np.ones(len(measured)), known[:, there]])
        fitted = np.linalg.pinv(beside) @ beside
        measured = measured - measured @ fitted
        shapes = courses[:, there]
        shapes = shapes - shapes @ fitted
        squares = np.einsum("ij,ij->i", shapes, shapes)
        products = shapes @ measured
        sizes = np.divide(products, squares, out=np.zeros_like(products), where=squares > 1.0)
        gains = sizes * products / noise**2
        evidence += np.where((gains >= EVIDENCE) & (np.abs(sizes) >= smallest), gains, 0.0)
    best = int(evidence.argmax())
    return candidates[best] if evidence[best] > 0.0 else None


def _inflation(values: Floats) -> float:
    """Return the factor by which the autocorrelation of nights widens the variance of a level."""
    rest = np.array([row - _smoothed(row) for row in values])
    phi = autocorrelation(rest)
    return (1 + phi) / (1 - phi)


def _smoothed(row: Floats) -> Floats:
    """Return the running median over seven nights; missing nights stay missing."""
    result = row.copy()
    places = np.flatnonzero(np.isfinite(row))
    measured = row[places]
    if len(measured):
        padded = np.pad(measured, 3, mode="reflect" if len(measured) > 3 else "edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, 7)
        result[places] = np.median(windows, axis=1)
    return result
