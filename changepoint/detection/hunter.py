"""Hunter's change detection: the methods "hunter" and "hunter-corrected".

"hunter" returns the indices of Apache Otava 0.8.0, the engine that continues Hunter (arXiv
2301.03034), including its defects. "hunter-corrected" is the same search without the defects that
affect which changes are reported. ``docs/internals/hunter.md`` describes both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from changepoint.detection import power
from changepoint.detection.hunter_kernels import candidates
from changepoint.detection.hunter_merge import merge
from changepoint.detection.hunter_tables import critical, weights
from changepoint.detection.method import FoundChange, MethodResult, Request
from changepoint.series import LARGEST, RESOLUTION, Floats, GroupedSeries, Ints

WINDOW = 50
"""Number of values in a window: Otava's default."""

PVALUE_PER_ALARM = 0.002
"""Limit of the p-value, divided by ``alarms_per_1000``: the default budget of 0.5 gives Otava's
default limit of .001. The limit scales with the budget; Hunter's actual alarm rate differs
(docs/internals/hunter.md)."""

STRICT, LOOSE = 0.05, 0.5
"""Thresholds of the p-value limit. The limit of the first pass is ten times as large if the limit
is below the first threshold, twice as large if it is below the second, and otherwise the same."""


@dataclass(frozen=True, slots=True)
class Points:
    """Changes that Hunter found: the index of the first value after each, and its p-value.

    Both arrays are (k,).
    """

    indices: Ints
    pvalues: Floats


def points(
    values: Floats,
    *,
    window: int = WINDOW,
    max_pvalue: float = 0.001,
    min_magnitude: float = 0.0,
    corrected: bool = False,
) -> Points:
    """Run Hunter's algorithm on single values; nan stands for a missing value.

    Values are (n,).

    Args:
        values: one-dimensional. Otava replaces a missing value by the one before it (at the start,
            by the one after it), so a reported index may be that of a missing value; the corrected
            variant leaves missing values out.
        window: number of values in a window of the first pass.
        max_pvalue: the p-value of a reported change is below this limit. The t-test ignores the
            selection of the split, except in the corrected variant.
        min_magnitude: a reported change is larger than this, as a fraction of the lower level.
        corrected: see ``docs/internals/hunter.md``.

    Raises:
        ValueError: an argument is out of range, or a value is beyond 1e300. The message is one
            sentence.
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"values must be one-dimensional, not of shape {values.shape}")
    if window < 2:
        raise ValueError(f"window must be at least 2, not {window}")
    if not 0.0 < max_pvalue < 1.0:
        raise ValueError(f"max_pvalue must be between 0 and 1, not {max_pvalue}")
    if not min_magnitude >= 0.0:
        raise ValueError(f"min_magnitude must be at least 0, not {min_magnitude}")
    kept = np.flatnonzero(~np.isnan(values))
    if np.any(np.abs(values[kept]) > LARGEST):
        raise ValueError(f"each value must be within ±{LARGEST:g}, or NaN if missing")
    if not len(kept):
        return Points(np.zeros(0, dtype=np.int64), np.zeros(0))
    measured = _reduced(values[kept]) if corrected else filled(values, kept)
    resolution = RESOLUTION if corrected else 0.0
    weak = candidates(
        measured,
        window,
        critical(_loosened(max_pvalue), window),
        *weights(window),
        int(corrected),
        resolution,
    )
    found, pvalues = merge(
        measured,
        weak,
        max_pvalue,
        min_magnitude,
        corrected=corrected,
        resolution=resolution,
    )
    return Points(kept[found] if corrected else found, pvalues)


def filled(values: Floats, kept: Ints) -> Floats:
    """Replace each missing value by the value before it, or at the start by the value after it.

    kept: (k,) indices of the non-missing values, at least one.
    """
    last = np.searchsorted(kept, np.arange(len(values)), side="right") - 1
    return values[kept[np.maximum(last, 0)]]


def find(series: GroupedSeries, request: Request) -> MethodResult:
    """Find changes with the method "hunter", which works like Apache Otava."""
    return _find(series, request, corrected=False)


def find_corrected(series: GroupedSeries, request: Request) -> MethodResult:
    """Find changes with the method "hunter-corrected", which repairs known defects of Otava."""
    return _find(series, request, corrected=True)


def _find(series: GroupedSeries, request: Request, *, corrected: bool) -> MethodResult:
    max_pvalue = request.alarms_per_1000 * PVALUE_PER_ALARM
    needed = power.by_deviation(float(ndtri(max_pvalue / 2.0)) ** 2)
    if not series.positions:
        return MethodResult((), max_pvalue, lambda _, __: needed)
    values = np.full(series.extent, np.nan)
    values[series.places] = _means(series)
    found = points(
        values, max_pvalue=max_pvalue, min_magnitude=request.min_effect, corrected=corrected
    )
    return MethodResult(reported(found, series.places), max_pvalue, lambda _, __: needed)


def reported(found: Points, places: Ints) -> tuple[FoundChange, ...]:
    """Convert Hunter's points to changes between measured positions, in order.

    places: (positions,) indices of the measured positions. A point at a filled-in value moves to
    the next measured position; of several points there, the most significant counts. Points after
    the last or before the first position are dropped. A p-value of nan (all values are equal)
    becomes 1.
    """
    changes: dict[int, float] = {}
    ats = np.searchsorted(places, found.indices).tolist()
    for at, pvalue in zip(ats, found.pvalues.tolist(), strict=True):
        if 0 < at < len(places):
            changes[at] = min(1.0 if np.isnan(pvalue) else pvalue, changes.get(at, 1.0))
    return tuple(FoundChange(at, pvalue) for at, pvalue in changes.items())


def _means(series: GroupedSeries) -> Floats:
    counts = np.diff(series.offsets)
    if np.all(counts == 1):
        return series.measured
    # Divide first: the sum of huge replicates may overflow.
    return np.add.reduceat(series.measured / np.repeat(counts, counts), series.offsets[:-1])


def _loosened(max_pvalue: float) -> float:
    """Return the looser p-value limit that the first pass of Hunter uses."""
    if max_pvalue < STRICT:
        return max_pvalue * 10
    return max_pvalue * 2 if max_pvalue < LOOSE else max_pvalue


def _reduced(values: Floats) -> Floats:
    """Divide the values by a power of two, without rounding, so that none exceeds 1.

    Squares then neither overflow nor underflow.
    """
    magnitude = float(np.max(np.abs(values)))
    return np.ldexp(values, -int(np.frexp(magnitude)[1])) if magnitude else values
