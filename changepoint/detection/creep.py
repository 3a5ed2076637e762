"""Creep: a slow loss since a chosen revision (the anchor) that no single step shows.

A line of releases that each lose half a percent has no change point worth a report, and is five
percent slower after ten of them. The test is one-sided: least squares fit a common slope to the
logarithms of the positions' means, beside a step at each change that was reported already, and
Student's t compares the slope with the noise around the fit. A reported step that the slope alone
explains better is no step: a long enough creep looks like one in its middle. The noise is moderated
by that between replicates (between_positions.py), and neighbours are assumed to depend on one
another more than they seem to. The size of a creep is the level of the newest positions relative to
that at the anchor, without the reported steps. ``docs/internals/statistics.md`` has the error
rates.

All figures are linear in the means, so their intervals follow from one variance, and the
contributions of the revisions sum to the whole.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from changepoint.comparison.verdict import Better
from changepoint.detection.between_positions import Replicates, moderate
from changepoint.detection.ladder import floor_of
from changepoint.detection.scan import MAX_PHI
from changepoint.detection.step_design import StepDesign
from changepoint.model import Position
from changepoint.noise import CLIP, NORMAL_MEDIAN, clip_replicates
from changepoint.series import Floats, GroupedSeries, Positions, read

FEWEST_REPLICATED = 6
"""Fewest positions of a series with replicates."""

FEWEST_SINGLE = 10
"""Fewest positions of a series of single values, whose noise is estimated from the scatter around
the fit."""

FEWEST_DEGREES = 4
"""Fewest degrees of freedom that the fit must leave."""

SHORT, LONG = 8.0, 20.0
"""Positions of a short and of a long series. In between, the limit and the assumed dependence move
from one to the other, so that a creep, once found, stays found while the series grows."""

LIMIT_SHORT, LIMIT_LONG = 5e-4, 2e-5
"""Largest p-value of one search. A stable line is searched again with each position, and a false
creep in one of 60 positions has a probability of at most .001: short series, which have the least
evidence, get most of it. Simulated: ``python -m changepoint.evaluate creep``."""

DEPENDENCE = 2.0
"""Standard errors that are added to the autocorrelation of the residuals. Nights may be slow only
because the nights before them were slow, which is no creep; a short series cannot show the
difference."""

RUNS = 3
"""Fewest runs whose mean is the level at the anchor, or at the newest end."""

SHARE, MOST_POSITIONS = 10, 10
"""The level at the anchor, or at the newest end, is the mean of a tenth of the positions, but at
most of ten."""

CLIPPINGS = 3
"""Number of times that residuals are clipped and the line is fitted again."""

FEWEST_CLIPPED = 10
"""Fewest positions whose outliers are clipped: the scatter of fewer is too uncertain."""

CONFIDENCE = 0.95
"""Confidence of all intervals."""

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PositionShare:
    """The share of one revision in a creep, as a fraction of the level at the anchor.

    position: label of the revision that the change came with. step: whether this change was
    reported as a change point of its own. Such a step is no part of the creep, and its ``effect``
    is relative to the level before it.
    """

    position: Position
    effect: float
    interval: Interval
    step: bool = False


@dataclass(frozen=True, slots=True)
class Creep:
    """A slow loss since the anchor: its size, its interval, and the revisions that contribute.

    anchor, position: labels of the first and the newest position. before: level at the anchor.
    after: level of the newest positions without the reported steps, both in the unit of the values.
    effect: (after - before) / before, with its 95 % interval. pvalue: p-value of the slope in one
    search. absorbed: labels of reported changes that count as part of the creep, because a slope
    explains them better than a step. contributions: the revisions with the largest contributions,
    in the order of the line, and all reported steps. remainder: the contribution of all other
    revisions: together with the listed contributions, without the steps, it sums to ``effect``.
    """

    anchor: Position
    position: Position
    before: float
    after: float
    effect: float
    effect_interval: Interval
    pvalue: float
    absorbed: tuple[Position, ...]
    contributions: tuple[PositionShare, ...]
    remainder: float
    remainder_interval: Interval


def creep(
    values: Sequence[float | None] | Floats,
    *,
    positions: Positions | None = None,
    changes: Sequence[Position] = (),
    elsewhere: Sequence[Position] = (),
    smallest: float = 0.05,
    better: Better = "higher",
    most: int = 20,
) -> Creep | None:
    """Test whether a series has become worse step by step since its first position, the anchor.

    Args:
        values: the series in order from the anchor on, one-dimensional; None and nan are missing.
        positions: label of each value's position, sorted, as for :func:`changepoint.detect`.
        changes: labels of the positions of changes that were reported; their steps are subtracted,
            unless a slope explains them better.
        elsewhere: labels of changes found in other series of the same runs: these steps are always
            subtracted.
        smallest: smallest cumulative change that matters, as a fraction. The creep together with
            the reported improvements must also be at least this large; otherwise the improvements
            have made up for the creep, and none is returned.
        better: the good direction of the level. A creep is a change in the other direction.
        most: maximum number of revisions to list; those that changed most are listed.

    Returns:
        The creep, or None if there is none, the series is too short, or a value is not positive.

    Raises:
        ValueError: values or positions are malformed, or ``smallest`` is not above zero.
    """
    return CreepTest(values, positions=positions).creep(
        changes=changes, elsewhere=elsewhere, smallest=smallest, better=better, most=most
    )


class CreepTest:
    """The test of :func:`creep` for a series that is tested several times with different steps.

    Takes the values and positions of ``creep`` and raises its ValueError.
    """

    def __init__(
        self, values: Sequence[float | None] | Floats, *, positions: Positions | None = None
    ) -> None:
        self._series = read(values, positions)
        self._summary = _summary(self._series)

    def absorbs(self, changes: Sequence[Position]) -> bool:
        """Return whether a creep would explain one of these reported changes better than a step.

        If not, :meth:`creep` absorbs none of them. changes: as in ``creep``.
        """
        steps = _ordinals(self._series, changes)
        if self._summary is None or not steps:
            return False
        return len(_without_absorbed(self._summary.replicates, steps, ())) < len(steps)

    def creep(
        self,
        *,
        changes: Sequence[Position] = (),
        elsewhere: Sequence[Position] = (),
        smallest: float = 0.05,
        better: Better = "higher",
        most: int = 20,
    ) -> Creep | None:
        """Return the result of :func:`creep` for the series. Raises its ValueError."""
        if not (smallest > 0.0 and math.isfinite(smallest)):
            raise ValueError(f"smallest must be a fraction above 0, not {smallest}")
        steps, sure = (_ordinals(self._series, given) for given in (changes, elsewhere))
        fit = None if self._summary is None else _fitted(self._summary, steps, sure)
        return None if fit is None else _described(self._series, fit, steps, smallest, better, most)


def _described(
    series: GroupedSeries,
    fit: _Fit,
    steps: Sequence[int],
    smallest: float,
    better: Better,
    most: int,
) -> Creep | None:
    """Return the creep that a fit shows; None if it shows none.

    steps: the reported steps, including those that count as part of the creep.
    """
    sign = -1.0 if better == "higher" else 1.0
    pvalue = fit.pvalue(sign)
    whole = float(fit.ends @ fit.means)
    low, high = (math.expm1(whole + side * fit.margin(fit.ends)) for side in (-1.0, 1.0))
    effect = math.expm1(whole)
    left = math.expm1(whole + sum(min(sign * step, 0.0) * sign for step in fit.sizes))
    if pvalue > fit.limit or not (low > 0.0 or high < 0.0):
        return None
    if sign * effect < smallest or sign * left < smallest:
        return None
    labels = series.labels
    listed, rest = fit.contributions(labels, effect / whole, most)
    before = math.exp(float(fit.anchor @ fit.means))
    return Creep(
        anchor=labels[0],
        position=labels[-1],
        before=before,
        after=before * (1.0 + effect),
        effect=effect,
        effect_interval=(low, high),
        pvalue=pvalue,
        absorbed=tuple(labels[at] for at in steps if at not in fit.steps),
        contributions=listed,
        remainder=rest[0],
        remainder_interval=rest[1],
    )


def _ordinals(series: GroupedSeries, changes: Sequence[Position]) -> list[int]:
    """Return the ordinals of the positions of changes, each once.

    Positions that the series lacks are left out, and so is the first one, where nothing can change.
    """
    ordinals = range(series.positions)
    found = {(bisect_left(ordinals, at, key=series.label), at) for at in changes}
    return sorted(
        ordinal
        for ordinal, at in found
        if 0 < ordinal < series.positions and series.label(ordinal) == at
    )


@dataclass(frozen=True, slots=True)
class _Fit:
    """A straight slope and steps, fitted to the logarithms of the mean of each position.

    means: (positions,), outliers clipped. design: the slope and the steps, with the number of
    replicates of each mean. ends: (positions,) weights of the means in the size of the creep;
    anchor: (positions,) weights of the means in the level at the anchor. variance, degrees:
    variance of one value, increased for the dependence of neighbours, and its degrees of freedom.
    limit: largest significant p-value.
    """

    means: Floats
    design: StepDesign
    ends: Floats
    anchor: Floats
    variance: float
    degrees: float
    limit: float

    @property
    def steps(self) -> list[int]:
        """The ordinals of the positions at which the fit has a step."""
        return [int(at) for at in self.design.steps]

    @property
    def sizes(self) -> list[float]:
        """The size of each fitted step, as a difference of logarithms."""
        return [float(size) for size in self.design.fit(self.means)[2:]]

    def margin(self, weights: Floats) -> float:
        """Return half the width of the confidence interval of a weighted sum of the means."""
        return float(stdtrit(self.degrees, 0.5 + CONFIDENCE / 2.0)) * self._error(weights)

    def pvalue(self, sign: float) -> float:
        """Return the probability of so steep a slope in the direction ``sign`` by chance."""
        slope = self.design.weights(1)
        return float(stdtr(self.degrees, -sign * float(slope @ self.means) / self._error(slope)))

    def contributions(
        self, labels: Sequence[Position], scale: float, most: int
    ) -> tuple[tuple[PositionShare, ...], tuple[float, Interval]]:
        """Return the largest contributions to the creep, and the remainder with its interval.

        scale: factor that converts a change of the logarithm to a relative effect, so that effects
        can be added. most: maximum number of revisions to list.
        """

        def scaled(weights: Floats) -> tuple[float, Interval]:
            value, margin = float(weights @ self.means), self.margin(weights)
            return scale * value, (scale * (value - margin), scale * (value + margin))

        def difference(at: int) -> Floats:
            """Return weights of the means whose sum is the change at a position, less its step."""
            weights = np.zeros(len(self.means))
            weights[at], weights[at - 1] = 1.0, -1.0
            for number, step in enumerate(self.steps):
                if step == at:
                    weights -= self.design.weights(2 + number)
            return weights

        sizes = np.diff(self.means)
        sizes[self.design.steps - 1] -= self.sizes
        chosen = 1 + np.sort(np.argsort(-np.abs(sizes), kind="stable")[:most])
        found = []
        rest = self.ends
        for at in chosen.tolist():
            weights = difference(at)
            found.append((at, PositionShare(labels[at], *scaled(weights))))
            rest = rest - weights
        for number, at in enumerate(self.steps):
            weights = self.design.weights(2 + number)
            value, margin = float(weights @ self.means), self.margin(weights)
            bounds = math.expm1(value - margin), math.expm1(value + margin)
            found.append((at, PositionShare(labels[at], math.expm1(value), bounds, step=True)))
        found.sort(key=lambda item: item[0])
        return tuple(one for _, one in found), scaled(rest)

    def _error(self, weights: Floats) -> float:
        return math.sqrt(self.variance * float(np.sum(weights * weights / self.design.counts)))


@dataclass(frozen=True, slots=True)
class _Summary:
    """The logarithms of a series by position, without outlying replicates.

    floor: the least variance to assume for one value.
    """

    replicates: Replicates
    floor: float


def _summary(series: GroupedSeries) -> _Summary | None:
    """Summarise the logarithms of a series; None if a value is not positive."""
    if not np.all(series.measured > 0.0):
        return None
    logs = np.log(series.measured)
    clipped = clip_replicates(logs, series.offsets)
    return _Summary(Replicates.of(clipped, series.offsets), floor_of(logs) ** 2)


def _fitted(summary: _Summary, steps: Sequence[int], sure: Sequence[int]) -> _Fit | None:
    """Fit a slope and steps to a series; return None if it has too few positions.

    sure: steps that are always part of the fit. Other steps are left out where the slope explains
    them better.
    """
    replicates, floor = summary.replicates, summary.floor
    count = len(replicates.means)
    replicated = replicates.replicated
    free = count - 2.0 - len({*steps, *sure})
    if count < (FEWEST_REPLICATED if replicated else FEWEST_SINGLE) or free < FEWEST_DEGREES:
        return None
    counts = replicates.counts
    within, within_degrees = replicates.within()
    steps = _without_absorbed(replicates, steps, sure)
    free = count - 2.0 - len(steps)
    design = StepDesign(counts, steps)
    means, residuals = _clipped(replicates.means, design, max(within, floor) / counts, free)
    scatter = float(np.sum(counts * residuals**2))
    if replicated:
        size = float(np.mean(counts))
        variance, degrees = moderate(within, within_degrees, size, scatter, free)
    else:
        variance, degrees = scatter / free, free
    late = min(max((count - SHORT) / (LONG - SHORT), 0.0), 1.0) if replicated else 1.0
    phi = _dependence(residuals, 2 + len(steps), late)
    ends, anchor = _ends(counts)
    return _Fit(
        means=means,
        design=design,
        ends=design.without_steps(ends),
        anchor=anchor,
        variance=max(float(variance), floor) * (1.0 + phi) / (1.0 - phi),
        degrees=float(degrees),
        limit=math.exp((1.0 - late) * math.log(LIMIT_SHORT) + late * math.log(LIMIT_LONG)),
    )


def _without_absorbed(
    replicates: Replicates, steps: Sequence[int], sure: Sequence[int]
) -> list[int]:
    """Return the steps that stay in the fit: all ``sure`` ones, and those better than a slope.

    A step stays if it explains more of the scatter than the slope of the whole series does.
    """
    doubtful = [at for at in steps if at not in sure]
    if not doubtful:
        return sorted(sure)
    design = StepDesign(replicates.counts, [*doubtful, *sure])
    targets = design.sums(replicates.counts * (replicates.means - np.mean(replicates.means)))
    # Rows: the level, the slope, the doubtful steps, the sure ones.
    left = list(range(2, 2 + len(doubtful)))
    inverse = np.linalg.inv(design.products)
    figures = inverse @ targets
    while left:
        # What the fit explains less without each row.
        lost = figures**2 / np.diag(inverse)
        least = left[int(np.argmin(lost[left]))]
        if lost[least] >= lost[1]:
            break
        left.remove(least)
        # The others' fit without this row, whose figure becomes 0.
        column = inverse[:, least] / inverse[least, least]
        figures = figures - column * figures[least]
        inverse = inverse - np.outer(column, inverse[least])
        inverse[least, least] = 1.0
    doubtful = [doubtful[row - 2] for row in left]
    return sorted([*doubtful, *sure])


def _clipped(
    means: Floats, design: StepDesign, least: Floats, free: float
) -> tuple[Floats, Floats]:
    """Return the means with outliers clipped around the fit, and the residuals of the fit.

    least: (positions,) lower bound of the variance of each mean. free: degrees of freedom of the
    fit.
    """
    kept = means
    residuals = kept - design.combined(design.fit(kept))
    if len(means) < FEWEST_CLIPPED:
        return kept, residuals
    for _ in range(CLIPPINGS):
        fitted = design.combined(design.fit(kept))
        away = means - fitted
        scale = float(np.median(np.abs(away))) / NORMAL_MEDIAN * math.sqrt(len(means) / free)
        reach = CLIP * np.sqrt(np.maximum(scale * scale, least))
        kept = fitted + np.clip(away, -reach, reach)
    return kept, kept - design.combined(design.fit(kept))


def _dependence(residuals: Floats, fitted: int, late: float) -> float:
    """Return the autocorrelation of the residuals, corrected for bias, plus a safety margin.

    The bias around a fit with s parameters is - s (1 + 3 phi) / n (Marriott and Pope, Biometrika
    41, 1954). fitted: number s of parameters. late: factor of the result, from 0 for a short series
    with replicates, where no dependence is assumed, to 1.
    """
    count = len(residuals)
    square = float(np.sum(residuals**2))
    raw = float(np.sum(residuals[1:] * residuals[:-1])) / square if square > 0.0 else 0.0
    corrected = raw + fitted / count * (1.0 + 3.0 * max(raw, 0.0))
    return late * min(max(corrected + DEPENDENCE / math.sqrt(count), 0.0), MAX_PHI)


def _ends(counts: Floats) -> tuple[Floats, Floats]:
    """Return weights of the means: for the change since the anchor, and for the anchor's level."""
    count = len(counts)
    wanted = max(math.ceil(RUNS / float(np.median(counts))), count // SHARE)
    block = min(wanted, MOST_POSITIONS, count // 3)
    anchor, newest = np.zeros(count), np.zeros(count)
    anchor[:block] = counts[:block] / np.sum(counts[:block])
    newest[-block:] = counts[-block:] / np.sum(counts[-block:])
    return newest - anchor, anchor
