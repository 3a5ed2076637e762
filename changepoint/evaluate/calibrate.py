"""Simulate unchanged series, to calibrate how strong a change must be.

Prints, for each length, the factors NIGHTLY and SINGLE at several strengths h. One factor per
length suffices if they do not depend on h.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from changepoint.detection.calibration import LENGTHS
from changepoint.detection.default import prepared
from changepoint.detection.interval_cache import cached_interval, memo_of
from changepoint.detection.scan import LEAST, PHI_NEAR, TAIL, Sizes, clipped_share
from changepoint.detection.segment import counted_phi, parts_of, strengths_of
from changepoint.evaluate.nightly import MARGIN
from changepoint.jit import compiled
from changepoint.series import RESOLUTION, Floats, Ints

LIMITS = np.array([8.0, 10.0, 12.0, 14.0, 16.0])
"""Strengths at which alarms are counted: the range of the limits that usual budgets imply."""
SHORTEST = 8
"""Positions of a series in the first searched night."""
SPREAD = 1.19
"""Lengths from length / ``SPREAD`` to length * ``SPREAD`` count as one length in the calibration:
half a doubling."""


@compiled
def first_split(values: Floats, least: int) -> tuple[float, int]:
    """Return the strength and place of the best split of a whole series."""
    y, sums, scale = prepared(values, RESOLUTION, 1.0)
    memo = memo_of(y, sums)
    at = cached_interval(y, sums, 0, len(y), least, memo)[1]
    edges = np.array([0, at, len(y)])
    share = clipped_share(values, y, scale)
    parts = parts_of(y, sums, edges, least, memo)
    phi = counted_phi(np.sum(parts[:, 3]), np.sum(parts[:, 4]), len(y), 1)
    sizes = Sizes(share, RESOLUTION * RESOLUTION, TAIL, 0.0, 0.0, 0.0, phi, PHI_NEAR, 1.0)
    return strengths_of(y, sums, edges, sizes, least, memo)[0], at


@compiled
def prefixes(values: Floats, limits: Floats, least: int) -> tuple[Ints, Ints]:
    """Return at which lengths a growing series raises an alarm, for each limit."""
    n = len(values)
    new = np.zeros((len(limits), n + 1), np.int64)
    any_ = np.zeros((len(limits), n + 1), np.int64)
    seen = np.full((len(limits), n + 1), -n)
    sizes = np.zeros(len(limits), np.int64)
    for length in range(SHORTEST, n + 1):
        strength, at = first_split(values[:length], least)
        for g in range(len(limits)):
            if strength < limits[g]:
                break
            any_[g, length] = 1
            if np.all(np.abs(seen[g, : sizes[g]] - at) > MARGIN):
                new[g, length] = 1
                seen[g, sizes[g]] = at
                sizes[g] += 1
    return new, any_


def calibration_table(trials: int, seed: int) -> Iterator[str]:
    """Return the calibration by length of series, from ``trials`` simulations."""
    random = np.random.default_rng(seed)
    longest = int(LENGTHS[-1] * SPREAD) + 1
    new = np.zeros((len(LIMITS), longest + 1))
    first = np.zeros((len(LIMITS), longest + 1))
    for _ in range(trials):
        now, ever = prefixes(random.normal(size=longest), LIMITS, LEAST)
        new += now
        first += ever
    weight = LIMITS * np.exp(-LIMITS / 2.0) * trials
    yield "| positions | factor | " + " | ".join(f"h = {h:g}" for h in LIMITS) + " |"
    yield "| --- | --- |" + " --- |" * len(LIMITS)
    for length in LENGTHS:
        window = slice(int(length / SPREAD), int(length * SPREAD) + 1)
        for name, counts in (("NIGHTLY", new), ("SINGLE", first)):
            factors = counts[:, window].mean(axis=1) / weight
            yield f"| {length:g} | {name} | " + " | ".join(f"{x:.4f}" for x in factors) + " |"
