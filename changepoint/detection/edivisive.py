"""Hierarchical divisive estimation of change points with replicates: the method "edivisive".

A stretch is split if the answer to both questions is yes:

1. Do its values have more than one distribution? The test is the energy statistic, maximised over
all splits, with a p-value from permutations of the values. It is exact for noise of any shape, as
long as replicates of a position are independent.

2. Does the difference exceed the usual difference between two positions (between_positions)? This
test also decides the place of the split. Without replicates every value is a position of its own:
question 2 is then left out, and the energy statistic decides the place.

Both sides are then searched in the same way.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.special import comb, stdtrit

from changepoint.detection import energy, power
from changepoint.detection.between_positions import Replicates, Split, best_split, is_replicated
from changepoint.detection.method import FoundChange, MethodResult, Request
from changepoint.noise import quantum
from changepoint.seed import own_seed
from changepoint.series import RESOLUTION, Floats, GroupedSeries, Ints

NIGHTS_PER_LADDER = 10
"""Number of nights whose alarm budget one search of a replicated series may spend. A ladder is
measured at once, and its ten or so positions represent the nights that could have raised an
alarm."""

NIGHTS_PER_SERIES = 2
"""Number of nights whose alarm budget one search of a series without replicates may spend. Such a
series is searched again every night, and some of the nights' alarms repeat that of the night
before: with two nights, the measured rate of new alarms is near the budget; with three it exceeds
the budget."""

PERMUTATION_LIMIT = 0.01
"""Limit of the permutation's p-value with replicates. It cannot be as small as the alarm
probability: of five positions with three replicates, one against four has p = 2/455 however large
the step. The position test is held to the alarm probability instead. Ladders of two positions (p =
.1) or three (p = .024), with three replicates each, never pass this limit."""

EXCEEDING = 5
"""Number of permuted maxima, including the observed one, that a p-value at the limit is computed
from. It decides how many permutations are made. With five, randomness changes such a p-value by
less than half, and the searches still fit in a night."""

MIN_PERMUTATIONS = 1_999
"""Minimum number of permutations: with fewer, randomness changes the p-value too much."""
MAX_PERMUTATIONS = 99_999
"""Maximum number of permutations: with more, the search of a night takes too long."""

ENUMERATED = 400_000
"""Maximum number of arrangements that are all enumerated for an exact p-value, which takes .2 s.
Where the exact p-value is near the limit, random draws would decide by chance: of five positions of
two replicates, two against three have p = 2/210 at a limit of .01. Four positions of three
replicates have 369,600 arrangements."""

WINDOW = 400
"""Positions searched at once, because the cost is quadratic. Longer stretches are searched in
windows of this size that overlap by half, so every change is near the middle of one."""


def find(series: GroupedSeries, request: Request) -> MethodResult:
    """Find the changes of a series with the method "edivisive", in order of their positions."""
    counts = np.diff(series.offsets)
    nights = NIGHTS_PER_LADDER if is_replicated(counts) else NIGHTS_PER_SERIES
    alarm_probability = request.alarms_per_1000 / 1000.0 * nights
    phi = request.autocorrelation or 0.0
    found: list[FoundChange] = []
    stretches = [(0, series.positions)]
    while stretches:
        start, stop = stretches.pop()
        best = _search(
            series.clipped, series.offsets, (start, stop), alarm_probability, request.seed, phi
        )
        if best is not None:
            found.append(best)
            stretches += [(start, best.at), (best.at, stop)]
    needs = partial(_needed, counts, alarm_probability)
    return MethodResult(tuple(sorted(found, key=lambda f: f.at)), alarm_probability, needs)


def _needed(counts: Ints, probability: float, _: float, behind: int) -> float:
    """Return the smallest step that this method can detect with the given replicates."""
    replicated = is_replicated(counts)
    positions, values = len(counts), int(np.sum(counts))
    orders = float(comb(values, int(np.sum(counts[: positions - behind]))))
    # Beside a clear step, two orders are as extreme: that of its sides and the reverse. In a longer
    # ladder, smaller steps are detectable, and some other orders are as extreme, too.
    clear = energy.arrangements(np.concatenate(([0], np.cumsum(counts)))) <= ENUMERATED
    extreme = (2.0 if clear else 4.0) / orders
    if extreme > (max(probability, PERMUTATION_LIMIT) if replicated else probability):
        return math.inf
    if replicated:
        return power.by_position_test(counts, probability)
    degrees = positions - 2.0
    limit = float(stdtrit(degrees, probability / 2.0 / (positions - 1.0))) ** 2
    return power.by_deviation(limit, degrees)


def _search(
    values: Floats,
    offsets: Ints,
    stretch: tuple[int, int],
    alarm_probability: float,
    seed: int,
    phi: float,
) -> FoundChange | None:
    """Find the most significant change in a part of a series; None if none is significant."""
    start, stop = stretch
    starts = [start]
    while starts[-1] + WINDOW < stop:
        starts.append(min(starts[-1] + WINDOW // 2, stop - WINDOW))
    probability = alarm_probability / len(starts)
    best: FoundChange | None = None
    for first in starts:
        last = min(first + WINDOW, stop)
        local = offsets[first : last + 1] - offsets[first]
        split = _split(values[offsets[first] : offsets[last]], local, probability, seed, phi)
        if split is not None and (best is None or split.pvalue < best.pvalue):
            best = FoundChange(first + split.tau, split.pvalue)
    return None if best is None else FoundChange(best.at, min(best.pvalue * len(starts), 1.0))


def _split(
    values: Floats, offsets: Ints, probability: float, seed: int, phi: float
) -> Split | None:
    observed, tau, kappa = energy.maximum(values, offsets)
    if observed <= RESOLUTION:
        return None
    replicates = Replicates.of(values, offsets)
    limit = probability
    split: Split | None = None
    if replicates.replicated:
        limit = max(probability, PERMUTATION_LIMIT)
        floor = max(quantum(values, offsets, RESOLUTION), RESOLUTION)
        # The cheap test first: most stretches have no change, and permuting is expensive.
        split = best_split(replicates, floor, phi)
        if split.pvalue > probability:
            return None
    if energy.arrangements(offsets) <= ENUMERATED:
        pvalue = energy.exact_pvalue(values, offsets, observed)
    else:
        wanted = int(np.ceil(EXCEEDING / limit)) - 1
        permutations = min(max(wanted, MIN_PERMUTATIONS), MAX_PERMUTATIONS)
        own = own_seed(seed, values)
        pvalue = energy.permutation_pvalue(values, offsets, observed, permutations, limit, own)
    if pvalue > limit:
        return None
    if split is None:
        return Split(tau, kappa, pvalue)
    return Split(split.tau, split.kappa, max(pvalue, split.pvalue))
