"""Test whether the throughput of a step was steady, or still warming up or drifting.

Two tests are applied to the throughput over time, one after the other:

1. **Change points** split it into stretches of one level (``changepoint.detect``), as Barrett et
   al. do ("Virtual Machine Warmup Blows Hot and Cold", OOPSLA 2017). The stretches at the
   beginning whose level never recurs are the time until the step was steady.
   A stretch shorter than two periods of a swing is part of the swing, not a level.
2. **A trend** of the rest: Spearman's rank correlation with time. Its standard error and degrees
   of freedom use the effective number of values (Santer et al., Journal of Geophysical
   Research 105, 2000), because neighbouring seconds are correlated.

docs/internals/statistics.md has the error rates; ``python -m benchmarks.steady`` measures them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from changepoint import Segment, detect
from pipeline.model import TimePoint
from pipeline.storage.derive.oscillation import oscillation

Floats = NDArray[np.float64]

FEWEST = 30
"""The minimum number of throughput reports for a verdict. In fewer, a warm-up of a tenth of the
step would be less than three values, and the correlation of neighbouring seconds could not be
distinguished from chance."""

MOST = 100
"""The maximum number of values that are tested. A longer step is divided into parts, and their
means are tested: neighbouring means are less correlated than seconds, and two hours take as long to
test as two minutes. The shortest visible warm-up, three parts, is 3 to 6 % of such a step."""

SMALLEST = 0.05
"""The smallest reported relative change: of the level at the end of the warm-up, or by a drift over
the whole steady part. A drift of 5 % moves the mean 2.5 % away from the final level, which is about
the smallest regression of interest."""

ALARMS = 0.05
"""``alarms_per_1000`` of the search for change points: a tenth of the value for series of nights,
because every step of every run has a timeline, and neighbouring seconds are correlated."""

SIGNIFICANCE = 3e-4
"""The p-value below which a trend is significant. With both tests, at most one steady step in 1000
is marked."""

STEADY_PART = 0.25
"""The share of a step that must be at its last level, as in Barrett et al. With less, the step did
not reach a steady state."""

SWINGS = 2
"""The minimum duration of a level at the beginning and at the end of a step, in periods of the
swing. A shorter one may be only a part of the swing."""


class Steadiness(NamedTuple):
    """Whether the throughput of a step was steady: when it became steady, and how it then drifted.

    ``warming`` is the time in seconds until the throughput was steady, 0 if it was from the start.
    ``before`` and ``after`` are the throughput before and after this moment. ``drift`` is the
    change of a line fitted to the steady part, divided by the mean of that part. ``pvalue`` is the
    probability of such a trend by chance. Both are None if the steady part is too short.
    ``seconds`` is the duration of the step.
    """

    seconds: float
    warming: float
    before: float
    after: float
    drift: float | None
    pvalue: float | None

    @property
    def reached(self) -> bool:
        """Whether the throughput was at its last level for enough of the step."""
        return self.seconds - self.warming >= STEADY_PART * self.seconds

    @property
    def drifts(self) -> bool:
        """Whether the throughput of the steady part drifts by enough to report."""
        return (
            self.drift is not None
            and self.pvalue is not None
            and abs(self.drift) >= SMALLEST
            and self.pvalue < SIGNIFICANCE
        )


def steadiness(timeline: Sequence[TimePoint]) -> Steadiness | None:
    """Test a step's throughput over time; None if the step is too short or did nothing."""
    if len(timeline) < FEWEST:
        return None
    ends, rates = parts(timeline)
    if not rates.any():
        return None
    segments = detect(rates, alarms_per_1000=ALARMS, min_effect=SMALLEST).segments
    begin = segments[_first_steady(segments)].start
    if begin and min(ends[begin - 1], ends[-1] - ends[begin - 1]) < _shortest_level(timeline):
        begin = 0
    rest = rates[begin:]
    drift, pvalue = trend(rest) if len(rest) >= FEWEST else (None, None)
    return Steadiness(
        seconds=timeline[-1].at,
        warming=float(ends[begin - 1]) if begin else 0.0,
        before=float(rates[:begin].mean()) if begin else math.nan,
        after=float(rest.mean()),
        drift=drift,
        pvalue=pvalue,
    )


def figures(found: Steadiness) -> dict[str, float]:
    """Return the metrics ``warming_s`` and, if the steady part is long enough, ``drift``."""
    values = {"warming_s": found.warming}
    return values if found.drift is None else values | {"drift": abs(found.drift)}


def marks(found: Steadiness) -> tuple[str, ...]:
    """Return the marks of a step (sentences for the reader) about unsteady throughput."""
    texts = []
    if found.warming:
        texts.append(_warming_mark(found))
    if found.drift is not None and found.pvalue is not None and found.drifts:
        rest = "through the rest of the step" if found.warming else "through the step"
        chance = f"p = {found.pvalue:.1g}" if found.pvalue >= 1e-4 else "p < 0.0001"
        texts.append(f"drifting: {100 * found.drift:+.0f} % {rest} (trend test, {chance})")
    return tuple(texts)


def _warming_mark(found: Steadiness) -> str:
    when = f"second {found.warming:.0f} of {found.seconds:.0f} (change point test)"
    if found.after <= 0.0:
        return f"not steady: throughput fell to zero at {when}"
    off = found.before / found.after - 1.0
    size = f"{100 * abs(off):.0f} % {'below' if off < 0 else 'above'} the later level"
    kind = "warming" if off < 0 else "slowing"
    return f"{kind if found.reached else 'not steady'}: throughput was {size} until {when}"


def parts(timeline: Sequence[TimePoint]) -> tuple[Floats, Floats]:
    """Divide a step into parts; return the end of each (in seconds) and its mean throughput."""
    ends = np.array([point.at for point in timeline])
    rates = np.array([point.ops_per_second for point in timeline])
    together = math.ceil(len(rates) / MOST)
    if together > 1:
        count = len(rates) // together
        lengths = np.diff(ends, prepend=0.0)
        # The remainder at the end belongs to the last part.
        starts = np.arange(count) * together
        rates = np.add.reduceat(rates * lengths, starts) / np.add.reduceat(lengths, starts)
        ends = ends[np.append(starts[1:], len(ends)) - 1]
    return ends, rates


def trend(values: Floats) -> tuple[float, float]:
    """Return the relative change of a linear trend over all values, and its p-value.

    The change is divided by the mean of the values. The slope of the trend is the median of the
    slopes between all pairs of values (Theil and Sen).
    """
    count = len(values)
    time = np.arange(count) - (count - 1) / 2.0
    mean = float(values.mean())
    if mean == 0.0 or np.ptp(values) == 0.0:
        return 0.0, 1.0
    first, second = np.triu_indices(count, 1)
    slope = float(np.median((values[second] - values[first]) / (second - first)))
    ranks = _ranks(values) - (count + 1) / 2.0
    steepness = float(time @ ranks / (time @ time))
    left = ranks - steepness * time
    alike = _alikeness(left)
    effective = count * (1.0 - alike) / (1.0 + alike)
    freedom = max(effective - 2.0, 1.0)
    error = math.sqrt(float(left @ left) / freedom / float(time @ time))
    pvalue = 2.0 * float(stdtr(freedom, -abs(steepness) / error)) if error > 0 else 0.0
    return slope * count / mean, pvalue


def _ranks(values: Floats) -> Floats:
    """Return the rank of each value, from 1; equal values share the mean of their ranks."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(count) - (count - 1) / 2.0)[place]
    return ranks


def _alikeness(left: Floats) -> float:
    """Return the autocorrelation of neighbouring residuals of a straight line, from 0 to 1."""
    count = len(left)
    square = float(left @ left)
    if square == 0.0:
        return 0.0
    found = float(left[1:] @ left[:-1]) / square
    # Residuals of a fitted line look less correlated than they are (Marriott and Pope 1954).
    unbiased = (count * found + 2.0) / (count - 4.0)
    return min(max(unbiased, 0.0), 1.0 - 2.0 / count)


def _shortest_level(timeline: Sequence[TimePoint]) -> float:
    """Return the minimum duration of a level in seconds; 0 if the throughput has no swings."""
    return SWINGS * oscillation(timeline).get("period_s", 0.0)


def _first_steady(segments: Sequence[Segment]) -> int:
    """Return the index of the first segment whose level recurs later, or of the last segment."""
    levels = [segment.level.level for segment in segments]
    for number, level in enumerate(levels):
        later = levels[number + 1 :]
        if not later or min(later) * (1 - SMALLEST) <= level <= max(later) * (1 + SMALLEST):
            return number
    raise AssertionError("the last stretch is steady")
