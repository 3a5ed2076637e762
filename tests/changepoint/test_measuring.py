"""The compiled measuring against a plain formulation, and what it must survive."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from changepoint import Detection, detect, methods
from changepoint.detection import effect
from changepoint.detection.between_positions import DOUBTED_DEGREES, PRIOR_DEGREES, PRIOR_RATIO
from changepoint.detection.default import LADDER
from changepoint.detection.effect import LOCATION_DROP, PLANNED
from changepoint.detection.effect_kernels import DRIFTS
from changepoint.evaluate.coverage import coverage
from changepoint.evaluate.simulate import NOISES, SeriesShape, draw
from changepoint.noise import CLIP
from changepoint.series import ANCHORS, Floats, read

Rows = list[Floats]
"""The values of each position."""

UPPER_QUARTILE = float(stats.norm.ppf(0.875))
NORMAL_MEDIAN = float(stats.norm.ppf(0.75))


def clip_rows(rows: Rows) -> Rows:
    pairs = [abs(row[i] - row[j]) for row in rows for i in range(len(row)) for j in range(i)]
    reach = CLIP * np.quantile(pairs, 0.75) / UPPER_QUARTILE / math.sqrt(2.0) if pairs else 0.0
    out = []
    for row in rows:
        away = np.abs(row - np.median(row))
        agree = 2 * np.sum(away > reach) < len(row)
        moved = np.clip(row, np.median(row) - reach, np.median(row) + reach)
        out.append(moved if reach > 0.0 and agree else row)
    return out


class PlainSegment:
    """A level by the book, from the values as measured and after replicates were clipped."""

    def __init__(self, measured: Rows, clipped: Rows) -> None:
        means = np.array([np.mean(row) for row in clipped])
        self.middle = float(np.median(means))
        self.low, self.high = float(min(means)), float(max(means))
        distances = np.sort(np.abs(means - self.middle))
        scale = distances[int(0.75 * (len(means) - 1))] / UPPER_QUARTILE
        if len(means) >= 4 and scale > 0.0:
            self.low, self.high = self.middle - CLIP * scale, self.middle + CLIP * scale
        shifts = np.clip(means, self.low, self.high) - means
        self.rows = [row + shift for row, shift in zip(clipped, shifts, strict=True)]
        self.values = np.concatenate(self.rows)
        self.level = float(np.mean(self.values))
        self.spread = float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0
        self.means = means
        moved = np.abs(self.values - np.concatenate(measured)) > 1e-9 * np.abs(self.values)
        self.moved = int(np.sum(moved))
        gaps = np.diff(np.sort(np.concatenate(measured)))
        steps = gaps[gaps > 1e-9]
        self.quantum = float(np.min(steps)) if 0 < len(steps) < len(gaps) else 0.0


def factor(phi: float, count: int) -> float:
    """Variance of a mean of ``count`` values over that of independent ones: summed up."""
    lags = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    return float(np.sum(phi**lags)) / count


def variance(pair: list[PlainSegment], units: list[float], phi: float) -> tuple[float, float]:
    """The noise variance of a value around two levels and its degrees of freedom."""
    counts = [len(row) for s in pair for row in s.rows]
    places, total = len(counts), sum(counts)
    scatter = inner = 0.0
    for s, unit in zip(pair, units, strict=True):
        for row in s.rows:
            scatter += len(row) * ((np.mean(row) - s.level) / unit) ** 2
            inner += np.sum(((row - np.mean(row)) / unit) ** 2)
    between = max(places - 2, 0)
    if between:
        scatter *= between / (places - sum(factor(phi, len(s.rows)) for s in pair))
    known = max(between, 1.0)
    squared = scatter / known
    if total - places >= max(2.0, places / 2.0):
        within = inner / (total - places)
        prior = within * (1.0 + total / places * PRIOR_RATIO)
        sure, doubted = (
            1.0 / (1.0 / d + 1.0 / (total - places)) for d in (PRIOR_DEGREES, DOUBTED_DEGREES)
        )
        weight = doubted if scatter > prior * between else sure
        squared = max((weight * prior + scatter) / (weight + between), within)
        known = sure + between
    step = max(s.quantum / u for s, u in zip(pair, units, strict=True))
    kept = 1.0 - min(sum(s.moved for s in pair) / total, 0.5)
    return max(squared / kept**2, step**2), known


def autocorrelation(parts: list[PlainSegment]) -> float:
    residuals = [s.means - s.middle for s in parts]
    n = sum(map(len, residuals))
    reach = CLIP * float(np.median(np.abs(np.concatenate(residuals)))) / NORMAL_MEDIAN
    if n < 10 or reach == 0.0:
        return 0.0
    inside = [np.clip(r, -reach, reach) for r in residuals]
    inside = [r - np.mean(r) for r in inside]
    raw = sum(float(np.sum(r[1:] * r[:-1])) for r in inside) / sum(np.sum(r * r) for r in inside)
    return float(np.clip(raw + len(parts) / n * (1.0 + 3.0 * max(raw, 0.0)), -1.0, 1.0))


def common_slope(parts: list[PlainSegment]) -> tuple[float, float, list[float]]:
    """Weighted least squares: the slope, the squares below it, and the middle of each segment."""
    products = squares = 0.0
    middles: list[float] = []
    start = 0
    for part in parts:
        counts = np.array([len(row) for row in part.rows], dtype=np.float64)
        places = start + np.arange(len(counts))
        middles.append(float(np.average(places, weights=counts)))
        away = counts * (places - middles[-1])
        products += float(np.sum(away * np.clip(part.means, part.low, part.high)))
        squares += float(np.sum(away * (places - middles[-1])))
        start += len(counts)
    return products / squares, squares, middles


def plain_intervals(
    parts: list[PlainSegment], number: int, n: int
) -> tuple[tuple[float, float], tuple[int, int]]:
    """Intervals of the effect, and of the places counted from the start of the left segment."""
    pair = parts[number : number + 2]
    left, right = pair
    phi, certainty = autocorrelation(parts), 1.0
    weight = 1.0 - 1.0 / (n * phi * phi) if phi else 0.0
    phi = min(phi * weight, 0.9) if phi > 0.0 and weight > 0.0 else 0.0
    if phi:
        certainty = 1.0 / (1.0 + 2.0 * weight * (1.0 + phi) / (1.0 - phi))
    squared, known = variance(pair, [1.0, 1.0], phi)
    quantile = float(stats.t.ppf(0.5 + PLANNED / 2.0, max(known * certainty, 1.0)))
    before, after, doubt = left.level, right.level, 0.0
    if n > LADDER:
        slope, squares, middles = common_slope(parts)
        error = squared * (1.0 + phi) / (1.0 - phi) / squares
        change = sum(len(s.rows) for s in parts[: number + 1]) - 0.5
        if abs(slope) > DRIFTS * math.sqrt(error):
            before += slope * (change - middles[number])
            after -= slope * (middles[number + 1] - change)
            doubt = error * (middles[number + 1] - middles[number]) ** 2 / (before * after)
    relative, _ = variance(pair, [abs(before), abs(after)], phi)
    shares = sum(factor(phi, len(s.rows)) / len(s.values) for s in pair)
    spread = quantile * math.sqrt(relative * shares + doubt)
    ratio, effect_itself = after / before, right.level / left.level - 1.0
    bounds = (
        min(ratio * math.exp(-spread) - 1.0, effect_itself),
        max(ratio * math.exp(spread) - 1.0, effect_itself),
    )

    low, high = min(left.low, right.low), max(left.high, right.high)
    means = np.clip(np.concatenate([left.means, right.means]), low, high)
    counts = np.array([len(row) for s in pair for row in s.rows])
    costs = []
    for at in range(1, len(means)):
        cost = 0.0
        for side in (slice(0, at), slice(at, None)):
            centre = np.average(means[side], weights=counts[side])
            cost += float(np.sum(counts[side] * (means[side] - centre) ** 2))
        costs.append(cost)
    best = int(np.argmin(costs))
    allowed = LOCATION_DROP * squared * (quantile / stats.norm.ppf(0.5 + PLANNED / 2.0)) ** 2
    inside = [
        at + 1
        for at, cost in enumerate(costs)
        if cost - costs[best] <= allowed * factor(phi, max(abs(at - best), 1))
    ]
    own = len(left.rows)
    return bounds, (min(own, *inside), max(own, *inside))


def ladder(name: str, shape: SeriesShape, seed: int) -> tuple[Floats, list[int], list[int]]:
    """Values with missing ones, their positions, and the ordinals where two levels begin."""
    random = np.random.default_rng(seed)
    values = draw(NOISES[name], shape, random, sigma=2.0, step=0.1, at=shape.positions // 3)
    values[2 * shape.positions // 3 * shape.replicates :] *= 0.93
    values[random.random(len(values)) < 0.1] = np.nan
    labels = shape.labels()
    kept = np.unique(labels[~np.isnan(values)])
    cuts = np.searchsorted(kept, [shape.positions // 3, 2 * shape.positions // 3])
    return values, labels.tolist(), cuts.tolist()


@pytest.mark.parametrize(
    "shape", [SeriesShape(6, 3), SeriesShape(9, 1), SeriesShape(30, 5), SeriesShape(90, 1)]
)
@pytest.mark.parametrize("name", ["gauss", "t3", "spikes", "quantised", "AR(.5)", "position 1"])
def test_compiled_measuring_is_the_plain_one(name: str, shape: SeriesShape) -> None:
    for seed in range(4):
        values, labels, cuts = ladder(name, shape, seed)
        series = read(values, labels)
        measured = effect.measure(series, cuts)
        rows = np.split(series.measured, series.offsets[1:-1])
        clipped = clip_rows(rows)
        edges = [0, *cuts, series.positions]
        parts = [PlainSegment(rows[a:b], clipped[a:b]) for a, b in pairwise(edges)]
        for level, part in zip(measured.levels, parts, strict=True):
            assert level.level == pytest.approx(part.level, rel=1e-12)
            assert level.spread == pytest.approx(part.spread, rel=1e-9)
            assert level.count == len(part.values)
        assert measured.noise.autocorrelation == pytest.approx(autocorrelation(parts), abs=1e-9)
        for i, (bounds, places) in enumerate(zip(measured.effects, measured.places, strict=True)):
            plain, ordinals = plain_intervals(parts, i, series.positions)
            assert bounds == pytest.approx(plain, rel=1e-9)
            assert places == [edges[i] + at for at in ordinals]


def test_min_effect_measures_merged_segments_again() -> None:
    random = np.random.default_rng(4)
    values = 100.0 + random.normal(0.0, 0.5, 400)
    for at, size in ((100, 2.0), (200, 1.5), (300, 30.0)):
        values[at:] += size
    assert [c.index for c in detect(values, method="default").changes] == [100, 200, 300]
    first, second = detect(values, method="default", min_effect=0.02).changes
    assert (first.index, second.index) == (100, 300)
    assert first.after.count == 200
    assert first.effect == pytest.approx(0.0275, abs=0.003)
    (change,) = detect(values, method="default", min_effect=0.04).changes
    assert change.index == 300
    assert change.before.count == 300


def test_the_scale_stays_when_values_are_appended() -> None:
    values = np.random.default_rng(5).normal(100.0, 2.0, 60)
    values[40:] *= 50.0
    whole = read(values, None)
    for stop in range(ANCHORS, 61):
        part = read(values[:stop], None)
        assert part.origin == whole.origin
        grown = whole.unit / part.unit
        assert grown == 2.0 ** round(math.log2(grown))
        assert np.array_equal(part.scaled / grown, whole.scaled[:stop])
        assert 0.5 <= np.max(np.abs(part.scaled)) < 1.0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("magnitude", [5e-324, 1e-310, 1e-200, 1.0, 1e200, 1e300])
def test_the_scale_gives_the_values_back(magnitude: float) -> None:
    values = magnitude * np.array([1.0, -1.0, 0.5, 1.0, 0.0, -0.25, 1.0])
    series = read(values, None)
    assert np.all(np.abs(series.scaled) <= 1.0)
    back = series.origin + series.unit * series.scaled
    assert back == pytest.approx(values, rel=1e-15, abs=1e-15 * magnitude)


def test_rounding_is_not_the_scale_that_values_stick_out_by() -> None:
    values = [0.3, 0.1 + 0.2] * 20 + [0.35, 0.26, 0.34, 0.28, 0.33]
    (level,) = effect.measure(read(values, None), []).levels
    assert level.level == pytest.approx(np.mean(values))
    assert level.spread == pytest.approx(np.std(values, ddof=1))


def test_equal_but_for_arithmetic_is_constant() -> None:
    series = read([0.3, 0.1 + 0.2, 0.3] * 10, None)
    assert not np.any(series.scaled)
    assert np.any(read([1.0, 1.0 + 1e-11], None).scaled)


@pytest.mark.parametrize("kind", [list, np.array])
def test_labels_are_grouped_alike_in_lists_and_arrays(kind: Any) -> None:
    values = [1.0, None, 2.0, 3.0, None, 4.0, 5.0]
    series = read(values, kind([3, 3, 3, 4, 5, 7, 7]))
    assert series.offsets.tolist() == [0, 2, 3, 5]
    assert series.labels == (3, 4, 7)
    assert [type(series.label(i)) for i in range(3)] == [int] * 3
    assert series.places.tolist() == [0, 1, 3]
    assert series.extent == 4
    scalars: list[Any] = [np.int64(3), 3, 3, 4, np.float64(5.0), 7, np.int64(7)]
    assert read(values, scalars).labels == (3, 4, 7)
    named = read(values, list("aaabcdd"))
    assert named.labels == ("a", "b", "d")
    assert named.offsets.tolist() == series.offsets.tolist()
    alone = read(values, None)
    assert alone.labels == (0, 2, 3, 5, 6)
    assert type(alone.label(1)) is int


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        (np.array([1.0, math.nan]), "position 1 is nan"),
        (np.array([2, 1]), r"position 1 \(1\) follows 2"),
        (["b", "a"], r"position 1 \('a'\) follows 'b'"),
        ([1.0, math.inf], "position 1 is inf"),
        (np.array([[1], [2]]), "position 0"),
        ([1, (2,)], "position 1"),
    ],
)
def test_positions_that_cannot_be(positions: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read([1.0, 2.0], positions)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "values", [np.array([1.0, 1j]), [1j], [10**400], np.array([np.longdouble("1e400")]), 1.0]
)
def test_values_that_cannot_be(values: Any) -> None:
    with pytest.raises(ValueError, match=r"values? must be"):
        detect(values)


def test_an_effect_next_to_a_level_of_zero_is_unbounded() -> None:
    random = np.random.default_rng(6)
    values = random.normal(0.0, 1.0, 60)
    values[30:] += 12.0
    (change,) = detect(values, method="default").changes
    assert change.effect_interval == (-math.inf, math.inf)
    # The other way about the level before is known, and so is that nothing is left of it.
    (change,) = detect(values[::-1], method="default").changes
    low, high = change.effect_interval
    assert -1.2 < low < -1.0 < high < -0.8


def test_opposite_signs_are_compared_by_their_difference() -> None:
    random = np.random.default_rng(7)
    values = random.normal(0.0, 1.0, 80) + np.repeat([-20.0, 10.0], 40)
    (change,) = detect(values, method="default").changes
    low, high = change.effect_interval
    assert low < 1.5 < high
    assert high - low < 0.1


finite = st.one_of(
    st.none(),
    st.floats(-1e300, 1e300, allow_nan=False),
    st.floats(-1e-300, 1e-300),
    st.integers(-3, 3).map(float),
    st.floats(99.0, 101.0),
)
noisy = st.builds(
    lambda seed, level, step, count: (
        np.random.default_rng(seed).normal(level, 1.0, 40)
        + np.repeat([0.0, step], [40 - count, count])
    ).tolist(),
    st.integers(0, 1000),
    st.sampled_from([0.0, 1e-9, 1.0, -5.0, 100.0]),
    st.sampled_from([5.0, -20.0, 1e9]),
    st.integers(1, 25),
)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", methods())
@settings(max_examples=100, deadline=None)
@given(st.one_of(st.lists(finite, max_size=30), noisy))
@example([5e-324] * 12 + [1e300] * 12)
@example([1e300, -1e300] * 10)
@example([0.0] * 12 + [5e-324] * 12)
@example([1e-9] * 12 + [1e9] * 12)
@example([100.0] * 20 + [100.0 + 1e-9] * 20)
def test_every_method_survives_every_list(method: str, values: list[float | None]) -> None:
    detection = detect(values, method=method)
    assert Detection.from_json(detection.to_json()) == detection
    if detection.segments:
        edges = [0, *(s.stop for s in detection.segments)]
        assert [s.start for s in detection.segments] == edges[:-1]
        assert edges[-1] == len(values)
    measured = [v for v in values if v is not None]
    assert sum(s.level.count for s in detection.segments) == len(measured)
    for segment in detection.segments:
        inside = [v for v in values[segment.start : segment.stop] if v is not None]
        slack = 1e-12 * max(map(abs, measured))
        assert min(inside) - slack <= segment.level.level <= max(inside) + slack
    for change in detection.changes:
        first, last = map(int, change.interval)
        assert first <= int(change.position) <= last
        low, high = change.effect_interval
        assert low <= change.effect <= high


@pytest.mark.filterwarnings("error")
def test_a_million_values() -> None:
    values = np.random.default_rng(8).normal(100.0, 2.0, 1_000_000)
    values[600_000:] += 1.0
    # Every pair of replicates would be 10^11 differences.
    two = effect.measure(read(values, np.repeat([0, 1], [600_000, 400_000])), [1])
    assert two.noise.scale == pytest.approx(2.0, rel=0.01)
    measured = effect.measure(read(values, None), [600_000])
    assert measured.places[0][0] <= 600_000 <= measured.places[0][1]
    assert measured.effects[0] == pytest.approx([0.01, 0.01], abs=2e-4)


def test_intervals_are_no_wider_than_they_must_be() -> None:
    got = coverage(NOISES["gauss"], 200, 0.04, False, "default", 300, 8803)
    # With the noise and the place known, two sides of 100 values at a noise of 2 % of the level
    # would give 4 * 2 % * sqrt(2 / 100) of the level after; the step is up to 60 from the middle.
    assert got.width < 0.015
    assert got.places <= 6
