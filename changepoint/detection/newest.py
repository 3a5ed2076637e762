"""Changes at the newest few positions of a series with repeated values.

The scan of :mod:`changepoint.detection.default` needs several positions on each side, so it sees a
step some nights late. Replicates that agree are evidence on the first night: the mean of the newest
positions is compared with the level of the last segment, by the noise between positions.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from changepoint.detection.between_positions import Replicates, moderate
from changepoint.detection.method import FoundChange
from changepoint.detection.scan import CLIP, LEAST
from changepoint.noise import NORMAL_MEDIAN
from changepoint.series import RESOLUTION, Floats, GroupedSeries

SHARE = 0.1
"""Share of the budget for changes of level that this test spends on replicated lines."""

NEWEST = 6
"""Maximum number of newest positions to test; also at most a third of all positions. The scan finds
a step of any size after four nights, so a step that this test found stays found."""

AGREEMENT = 0.5
"""Share of the difference of the means that every newest replicate must show by itself. A spike
moves the mean by a third of its size, and the other two replicates do not follow it."""


class _Within(NamedTuple):
    """The noise between replicates: mean square, degrees of freedom, replicates per position."""

    square: float
    degrees: float
    size: float


def find(
    series: GroupedSeries, replicates: Replicates, ats: list[int], alarm_probability: float
) -> FoundChange | None:
    """Find the best change at one of the newest positions; None if none is significant.

    replicates: means and scatter of the positions after clipping. ats: ascending positions, before
    the newest, where the level changes. alarm_probability: probability of a false alarm in one
    night.
    """
    values = replicates.means
    edges = [0, *ats, series.positions]
    start, end = edges[-2:]
    # No candidate is part of the level before.
    stop = max(end - min(NEWEST, end // LEAST), start + LEAST)
    levels = [float(np.median(values[a:b])) for a, b in pairwise([*edges[:-1], stop])]
    away = values - np.repeat(levels, np.diff(edges))
    # A spike in the position before a step would move its place: the middle replicate decides.
    middle = np.array(
        [np.median(part) for part in np.split(series.scaled, series.offsets[stop:-1])]
    )
    agreed = _agreed(series, np.repeat(levels, np.diff(series.offsets[edges])))
    settled = np.abs(agreed)
    within = _Within(
        series.replicate_scale**2,
        float(len(series.scaled) - series.positions),
        len(series.scaled) / series.positions,
    )
    place, explained, pvalue = stop, 0.0, 1.0
    for at in range(stop, end):
        shift = float(np.mean(away[at:]))
        mean = float(np.mean(middle[at - stop + 1 :])) - levels[-1]
        own = mean * mean * (at - start) * (end - at) / (end - start)
        if own > explained:
            place, explained = at, own
        least = AGREEMENT * abs(shift)
        agree = np.all(math.copysign(1.0, shift) * agreed[at:] >= least)
        # An earlier position that shows half as much in all replicates was no change of level.
        if shift != 0.0 and agree and not np.any(settled[:at] >= least):
            own_pvalue = _pvalue(shift, away[:stop], stop - len(levels), stop - start, within)
            pvalue = min(pvalue, own_pvalue)
    return FoundChange(place, pvalue) if pvalue <= alarm_probability else None


def _agreed(series: GroupedSeries, levels: Floats) -> Floats:
    """Return, by position, the smallest difference of its values from the level.

    The result is the smallest difference if all differences of a position have one sign, and
    otherwise 0. levels: (values,). Returns (positions,).
    """
    differences = series.scaled - levels
    least = np.minimum.reduceat(differences, series.offsets[:-1])
    most = np.maximum.reduceat(differences, series.offsets[:-1])
    return np.asarray(np.maximum(least, 0.0) + np.minimum(most, 0.0), dtype=np.float64)


def _pvalue(shift: float, away: Floats, degrees: int, before: int, within: _Within) -> float:
    """Return the two-sided p-value of a shift, by Student's t with the noise between positions.

    away: (n,) differences of earlier positions from their levels. degrees: degrees of freedom of
    ``away``. before: number of positions of the last level. within: noise between replicates. The
    newest positions may share the state of a machine, so their mean counts as one position. As in a
    ladder, the noise is moderated by that between replicates.
    """
    reach = CLIP / NORMAL_MEDIAN * float(np.median(np.abs(away)))
    square = float(np.sum(np.clip(away, -reach, reach) ** 2))
    variance, sure = moderate(
        within.square, within.degrees, within.size, square * within.size, float(degrees)
    )
    variance = max(variance / within.size, RESOLUTION**2)
    return 2.0 * float(stdtr(sure, -abs(shift) / math.sqrt(variance * (1.0 + 1.0 / before))))
