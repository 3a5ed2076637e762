"""The second pass of Hunter: drop candidate changes, weakest first, until all are significant."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from changepoint.detection.hunter_kernels import compare, weakest
from changepoint.series import Floats, Ints

UNTESTED = 3
"""Minimum values for a t-test; with fewer, the p-value is 1."""


def merge(
    values: Floats,
    candidates: Ints,
    max_pvalue: float,
    min_magnitude: float,
    *,
    corrected: bool,
    resolution: float,
) -> tuple[Ints, Floats]:
    """Drop insignificant candidate changes; return the remaining ones and their p-values.

    values: (n,) finite. candidates: (m,) indices of the first values after possible changes.
    corrected: test both neighbours of a dropped point again (Otava tests the next two instead),
    divide variances by n - 1, and multiply p-values by the number of possible places of the change.
    """
    points = candidates
    degrees_lost = int(corrected)

    def test(which: Ints) -> tuple[Floats, Floats]:
        t, counts, sizes = compare(values, points, which, degrees_lost, resolution)
        pvalues = np.where(counts < UNTESTED, 1.0, 2.0 * stdtr(counts - 2.0, -t))
        return np.minimum(pvalues * (counts - 1), 1.0) if corrected else pvalues, sizes

    pvalues, sizes = test(np.arange(len(points)))
    while len(points):
        dropped = weakest(pvalues, sizes, max_pvalue, min_magnitude)
        if dropped < 0:
            break
        points = np.delete(points, dropped)
        pvalues, sizes = np.delete(pvalues, dropped), np.delete(sizes, dropped)
        # The successor of the dropped point is now at its index.
        neighbours = np.array((dropped - 1, dropped) if corrected else (dropped, dropped + 1))
        again = neighbours[(neighbours >= 0) & (neighbours < len(points))]
        pvalues[again], sizes[again] = test(again)
    return points, pvalues
