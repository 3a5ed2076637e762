"""Pooled detection: find changes that many series share, though each alone shows too little.

A change of 2 % in one range query is lost in noise of 2 %; the same change in six range queries of
the same runs is not. The group is searched as one: :mod:`changepoint.detection.joint_test` tests a
split of all series by shuffling their rows together, which preserves the dependence between the
series.

What a row is depends on the series. Without replicates, or from ``MANY_POSITIONS`` positions on, a
row is a position, with the means of its replicates. In a shorter ladder with replicates a row is a
run, with one replicate of every series. Runs of one position are not independent of each other, so
a second test (:mod:`changepoint.detection.between_positions`) checks whether the split exceeds the
usual differences between positions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from changepoint.detection import effect, joint_test
from changepoint.detection.between_positions import (
    PRIOR_RATIO,
    Replicates,
    best_split,
    is_replicated,
)
from changepoint.detection.edivisive import (
    EXCEEDING,
    MAX_PERMUTATIONS,
    MIN_PERMUTATIONS,
    NIGHTS_PER_LADDER,
    NIGHTS_PER_SERIES,
    PERMUTATION_LIMIT,
)
from changepoint.detection.pooled_model import Pooled, PooledMember, Rows, SharedChange
from changepoint.model import Position
from changepoint.noise import clip_replicates
from changepoint.series import RESOLUTION, Floats, GroupedSeries, Ints, Positions, read

MANY_POSITIONS = 40
"""Number of positions from which replicated series are tested by shuffling positions: even two
positions of 40 are the outermost in only 2 of 780 orders, .0026. With fewer positions, a change
near an end could not reach the default alarm probability of .005."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Several series that were measured by the same runs, as a table of runs and series.

    values: (rows, series), each in the scale of its own series, nan where missing. offsets:
    (positions + 1,), of the positions in which any series was measured.
    """

    names: tuple[str, ...]
    series: tuple[GroupedSeries, ...]
    values: Floats
    offsets: Ints
    labels: tuple[Position, ...]
    indices: Ints


def pooled(
    series_group: Mapping[str, Sequence[float | None] | Floats],
    *,
    positions: Positions | None = None,
    alarms_per_1000: float = 0.5,
    seed: int = 0,
) -> Pooled:
    """Find where series that were measured together change together.

    Args:
        series_group: values of each series under its name, all of the same length: values at one
            index were measured in the same run. None and nan are missing.
        positions: as in ``detect``, shared by all series.
        alarms_per_1000: as in ``detect``, for the group as a whole.
        seed: seed of the random shuffles.

    Raises:
        ValueError: the series are not of one length, or ``detect`` would reject the values, the
            positions or an option. The message is one sentence.
    """
    if not 0.0 < alarms_per_1000 < 1000.0 / NIGHTS_PER_LADDER:
        raise ValueError(f"alarms_per_1000 must be above 0 and below 100, not {alarms_per_1000}")
    if not 0 <= seed < 2**63:
        raise ValueError(f"seed must be between 0 and 2**63 - 1, not {seed}")
    group = _read(series_group, positions)
    counts = np.diff(group.offsets)
    replicated = bool(is_replicated(counts)) if len(counts) else False
    probability = (
        alarms_per_1000 / 1000.0 * (NIGHTS_PER_LADDER if replicated else NIGHTS_PER_SERIES)
    )
    rows: Rows = "runs" if replicated and len(counts) < MANY_POSITIONS else "positions"
    found: list[tuple[int, float, bool]] = []
    stretches = [(0, len(counts))]
    while stretches:
        start, stop = stretches.pop()
        best = _search(group, (start, stop), rows, probability, seed)
        if best is not None:
            found.append(best)
            stretches += [(start, best[0]), (best[0], stop)]
    found.sort()
    edges = [0, *(at for at, _, _ in found), len(counts)]
    changes = tuple(
        _describe(group, (edges[i], edges[i + 1], edges[i + 2]), pvalue, together)
        for i, (_, pvalue, together) in enumerate(found)
    )
    return Pooled(changes, rows, probability)


def _read(
    series_group: Mapping[str, Sequence[float | None] | Floats], positions: Positions | None
) -> _Group:
    names = tuple(series_group)
    series = []
    for name in names:
        try:
            series.append(read(series_group[name], positions))
        except ValueError as error:
            raise ValueError(f"series {name!r}: {error}") from None
    lengths = {s.length for s in series}
    if len(lengths) > 1:
        raise ValueError(
            f"all series of a group must have the same length; lengths are {sorted(lengths)}"
        )
    empty = 0 if positions is None else len(positions)
    length = lengths.pop() if lengths else empty
    values = np.full((length, len(names)), np.nan)
    for column, s in enumerate(series):
        values[s.indices, column] = s.scaled
    kept = np.flatnonzero(~np.all(np.isnan(values), axis=1)) if names else np.zeros(0, dtype=int)
    # The labels, checked and grouped like those of any other series.
    present = np.full(length, np.nan)
    present[kept] = 1.0
    whole = read(present, positions)
    return _Group(names, tuple(series), values[kept], whole.offsets, whole.labels, whole.indices)


def _search(
    group: _Group, stretch: tuple[int, int], rows: Rows, probability: float, seed: int
) -> tuple[int, float, bool] | None:
    """Find the best common split in a part of a group; None if it is not significant."""
    start, stop = stretch
    if stop - start < 2:
        return None
    offsets = group.offsets[start : stop + 1] - group.offsets[start]
    values = group.values[group.offsets[start] : group.offsets[stop]]
    if rows == "positions":
        means = _means(values, offsets)
        pvalue, tau, together = joint_test.split(
            joint_test.scores(means), np.arange(stop - start + 1), _shuffles(probability), seed
        )
        return (start + tau, pvalue, together) if pvalue <= probability else None
    score = joint_test.scores(values)
    guard, tau, together = _position_guard(score, values, offsets)
    if guard > probability:
        return None
    limit = max(probability, PERMUTATION_LIMIT)
    pvalue, _, _ = joint_test.split(score, offsets, _shuffles(limit), seed)
    return (start + tau, max(pvalue, guard), together) if pvalue <= limit else None


def _shuffles(limit: float) -> int:
    wanted = int(np.ceil(EXCEEDING / limit)) - 1
    return min(max(wanted, MIN_PERMUTATIONS), MAX_PERMUTATIONS)


def _means(values: Floats, offsets: Ints) -> Floats:
    """Return the mean of the replicates at each position of each series; nan if there are none."""
    measured = ~np.isnan(values)
    counts = np.add.reduceat(measured, offsets[:-1], axis=0, dtype=np.float64)
    sums = np.add.reduceat(np.where(measured, values, 0.0), offsets[:-1], axis=0)
    return np.where(counts > 0.0, sums / np.maximum(counts, 1.0), np.nan)


def _position_guard(score: Floats, values: Floats, offsets: Ints) -> tuple[float, int, bool]:
    """Test whether a common split exceeds the usual differences between positions.

    Two position tests are made: one of the mean score of a run over all series, and one of each
    series alone. The better one counts; Bonferroni corrects for the choice, whatever the dependence
    of the series.
    """
    mean = _mean_score(score, np.ones(score.shape[1]))
    known = [w for column in score.T if not math.isnan(w := _within(column, offsets))]
    alone = sum(known) / len(known) if known else 0.0
    best = 1.0, 0, True
    split = _position_split(mean, offsets, alone)
    if split is not None:
        best = min(2.0 * split[0], 1.0), split[1], True
    for column in range(values.shape[1]):
        split = _position_split(values[:, column], offsets)
        if split is not None:
            pvalue = min(2.0 * values.shape[1] * split[0], 1.0)
            if pvalue < best[0]:
                best = pvalue, split[1], False
    return best


def _position_split(values: Floats, offsets: Ints, alone: float = 0.0) -> tuple[float, int] | None:
    """Return the best split of one series by position and its p-value; None if too short.

    alone: for a mean of series, the mean square between replicates of a single one. The mean
    reduces the noise between replicates, but not differences between positions, which all series
    may share. The prior for positions is therefore that of a single series.
    """
    replicates, present = _replicates(values, offsets)
    if len(present) < 2:
        return None
    within = replicates.within()[0]
    if alone > within > 0.0:
        prior = PRIOR_RATIO * float(np.mean(replicates.counts))
        grown = (1.0 + prior * alone / within) / (1.0 + prior)
        replicates = replace(replicates, squares=replicates.squares * grown)
    split = best_split(replicates, RESOLUTION)
    return split.pvalue, int(present[split.tau])


def _within(values: Floats, offsets: Ints) -> float:
    """Return the variance between the replicates of one series; nan if it has none."""
    within, degrees = _replicates(values, offsets)[0].within()
    return within if degrees else math.nan


def _replicates(values: Floats, offsets: Ints) -> tuple[Replicates, Ints]:
    """Return one series by position, with outliers clipped, and the positions measured."""
    measured = ~np.isnan(values)
    counts = np.add.reduceat(measured, offsets[:-1], dtype=np.int64)
    present = np.flatnonzero(counts)
    own = np.concatenate(([0], np.cumsum(counts[present])))
    if not len(present):
        empty = np.zeros(0)
        return Replicates(empty, empty, empty), present
    return Replicates.of(clip_replicates(values[measured], own), own), present


def _mean_score(score: Floats, signs: Floats) -> Floats:
    """Return the mean score of all series for each run, (rows,).

    signs: 1 for a rising series, -1 for a falling one, whose scores are negated.
    """
    measured = ~np.isnan(score)
    turned = np.where(measured, score * signs, 0.0)
    return np.asarray(np.sum(turned, axis=1) / np.sum(measured, axis=1))


def _describe(
    group: _Group, stretch: tuple[int, int, int], pvalue: float, together: bool
) -> SharedChange:
    """Describe a shared change: its place, and the series that show it.

    stretch: the first position of the searched stretch, the position after the change, and the end.
    """
    start, at, stop = stretch
    rows = slice(group.offsets[start], group.offsets[stop])
    score = joint_test.scores(group.values[rows])
    cut = group.offsets[at] - group.offsets[start]
    signs = np.array([_sign(column, cut) for column in score.T])
    labels = np.repeat(np.arange(len(group.labels)), np.diff(group.offsets))[rows]
    line = read(_mean_score(score, signs), labels)
    left, right = effect.segments(line, [at - start])
    first, last = effect.position_interval(left, right)
    members = (
        _member(name, series, group.labels, stretch)
        for name, series in zip(group.names, group.series, strict=True)
    )
    return SharedChange(
        index=int(group.indices[group.offsets[at]]),
        position=group.labels[at],
        interval=(group.labels[start + first], group.labels[start + last]),
        pvalue=pvalue,
        together=together,
        members=tuple(member for member in members if member is not None),
    )


def _sign(score: Floats, cut: int) -> float:
    """Return +1 if one series rises at a split, -1 if it falls, 0 if a side has no values."""
    sides = [side[~np.isnan(side)] for side in (score[:cut], score[cut:])]
    if not all(len(side) for side in sides):
        return 0.0
    return float(np.sign(np.mean(sides[1]) - np.mean(sides[0])))


def _member(
    name: str, series: GroupedSeries, labels: tuple[Position, ...], stretch: tuple[int, int, int]
) -> PooledMember | None:
    """Return the effect of a shared change in one series."""
    ordinals = {label: i for i, label in enumerate(labels)}
    own = np.array([ordinals[label] for label in series.labels], dtype=np.int64)
    start, at, stop = (int(i) for i in np.searchsorted(own, stretch))
    if at in (start, stop):
        return None
    cuts = sorted({start, at, stop} - {0, series.positions})
    parts = {part.start: part for part in effect.segments(series, cuts)}
    before, after = (effect.level(series, parts[i]) for i in (start, at))
    return PooledMember(
        name=name,
        before=before,
        after=after,
        effect=effect.relative(before.level, after.level),
        effect_interval=_effect_interval(series, parts[start], parts[at]),
    )


def _effect_interval(
    series: GroupedSeries, left: effect.Stretch, right: effect.Stretch
) -> tuple[float, float]:
    # The noise relative to a level near zero overflows in the scale of the series: such a level has
    # no meaningful relative change.
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = effect.effect_interval(series, left, right)
    return (-math.inf, math.inf) if math.isnan(low) or math.isnan(high) else (low, high)
