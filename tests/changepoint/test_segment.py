"""What the search for changes of level promises, in series written out or with known steps."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import changepoint
from changepoint.detection.default import changes_of_scores
from changepoint.detection.inner_intervals import Inner, grid, inner_of
from changepoint.detection.interval_cache import memo_of
from changepoint.detection.scan import (
    PHI_NEAR,
    Sizes,
    evidence,
    mean_factor,
    split_factor,
    sums_of,
)
from changepoint.detection.segment import (
    best_inner,
    counted_phi,
    linked,
    parts_of,
    search,
    strength,
    strengths_of,
)
from changepoint.series import Floats

detect = functools.partial(changepoint.detect, method="default")

LEAST = 3
"""Values a side has to have."""

PLAIN = Sizes(0.0, 1e-18, 0.0, 0.0, 0.0, 0.0, 0.0, PHI_NEAR, 1.0)
"""Nothing was clipped, no smallest deviation to speak of, tails do not count, nothing is linked."""


def noise(seed: int, length: int) -> Floats:
    return np.random.default_rng(seed).normal(0.0, 1.0, length)


def zigzag(length: int, size: float = 1.0) -> Floats:
    """Values of variance size squared whose every pair has the mean 0."""
    return size * np.where(np.arange(length) % 2 == 0, 1.0, -1.0)


def levels(*parts: tuple[int, float]) -> Floats:
    return np.repeat([level for _, level in parts], [count for count, _ in parts])


def places(values: Floats) -> list[int]:
    return [change.index for change in detect(values).changes]


def found(values: Floats, limit: float, sizes: Sizes = PLAIN) -> tuple[list[int], list[float]]:
    """Places and strengths of the changes of values that are not clipped."""
    sums = sums_of(values)
    memo = memo_of(values, sums)
    inner = inner_of(sums, memo[2], LEAST)
    known = linked(values, sums, sizes._replace(phi=-1.0), limit, LEAST, memo)
    at, strengths = search(values, values, sums, np.inf, limit, known, LEAST, memo, inner)
    return at.tolist(), strengths.tolist()


def differences(values: Floats, edges: list[int]) -> tuple[float, float]:
    """Sums of squared differences at lag 1 and 2 inside segments."""
    parts = [values[start:stop] for start, stop in pairwise(edges)]
    one = sum(float(np.sum(np.diff(part) ** 2)) for part in parts)
    return one, sum(float(np.sum((part[2:] - part[:-2]) ** 2)) for part in parts)


@pytest.mark.parametrize(
    ("n", "changes", "two", "phi"),
    [
        (101, 0, 1.5 * 99, 0.5 - 0.19 - 1.35 / math.sqrt(101) + 8 / 101),
        (104, 3, 1.5 * 96, 0.5 - 0.19 - 1.35 / math.sqrt(104) + 8 / 104),
        (401, 0, 1.7 * 399, 0.7 - 0.19 - 1.35 / math.sqrt(401) + 8 / 401),
        (101, 0, 1.2 * 99, 0.0),
        (101, 0, 0.0, 0.0),
        (10_001, 0, 2.4 * 9999, 0.9),
    ],
)
def test_what_counts_of_an_autocorrelation(n: int, changes: int, two: float, phi: float) -> None:
    """Neighbours differ by 1 in the mean square, and pairs at lag 2 by 1 + phi.

    Each change takes one difference at lag 1 and two at lag 2.
    """
    assert counted_phi(float(n - 1 - changes), two, n, changes) == pytest.approx(phi)


def test_too_few_differences_say_nothing_of_an_autocorrelation() -> None:
    assert counted_phi(0.0, 5.0, 50, 0) == 0.0, "equal neighbours"
    assert counted_phi(1.0, 5.0, 4, 3) == 0.0, "no difference at lag 1"
    assert counted_phi(1.0, 5.0, 6, 2) == 0.0, "no difference at lag 2"
    assert counted_phi(1e-3, 5.0, 7, 2) > 0.0


def test_steps_are_no_autocorrelation() -> None:
    """Differences across a change are left out of the estimate, also if no guard lets it pass."""
    values = noise(1, 300)
    for i in range(1, 300):
        values[i] += 0.6 * values[i - 1]
    edges = [0, 90, 93, 200, 300]
    stepped = values + levels((90, 0.0), (3, 50.0), (107, -20.0), (100, 8.0))
    sums = sums_of(stepped)
    memo = memo_of(stepped, sums)
    unknown = PLAIN._replace(phi=-1.0, near=0.0, trust=0.5)
    # The limit is so high that the noise itself is not split.
    known = linked(stepped, sums, unknown, 90.0, LEAST, memo)
    phi = counted_phi(*differences(stepped, edges), 300, 3)
    assert known.phi == pytest.approx(0.5 * phi)
    assert known.near == 0.5 * PHI_NEAR
    one, two = differences(values, [0, 300])
    assert phi == pytest.approx(counted_phi(one, two, 300, 0), abs=0.04)
    assert 0.2 < phi < 0.5
    assert linked(stepped, sums, known, 90.0, LEAST, memo) == known


def strength_of(
    values: Floats,
    place: tuple[int, int, int],
    rest: float = 40.0,
    degrees: float = 38.0,
    phi: float = 0.0,
    share: float = 0.0,
    tail: float = 0.0,
) -> float:
    sizes = PLAIN._replace(share=share, tail=tail, phi=phi)
    return strength(values, sums_of(values), place, (rest, degrees), sizes)


def test_the_strength_of_a_plain_step_is_its_evidence() -> None:
    """A step of 5 between two sides of 20 explains 25 * 20 * 20 / 40 of squared error."""
    values = levels((20, 1.0), (20, 6.0)) + zigzag(40)
    assert strength_of(values, (0, 20, 40)) == pytest.approx(37.5 * math.log(1 + 250 / 40))
    assert strength_of(-values, (0, 20, 40)) == strength_of(values, (0, 20, 40))
    around = np.concatenate((np.full(7, 90.0), values, np.full(5, -80.0)))
    assert strength_of(around, (7, 27, 47)) == pytest.approx(strength_of(values, (0, 20, 40)))


def test_the_strength_of_a_step_in_autocorrelated_noise() -> None:
    """The variance of the difference of two means is that of independent values times a factor."""
    values = levels((50, 1.0), (100, 6.0)) + zigzag(150)
    factor = (mean_factor(0.4, 50.0) * 2 + mean_factor(0.4, 100.0)) / 3
    gain = 25 * 50 * 100 / 150
    expected = 147.5 * math.log(1 + gain / 150 / factor)
    assert strength_of(values, (0, 50, 150), 150.0, 148.0, phi=0.4) == pytest.approx(expected)


@pytest.mark.parametrize(("size", "passes"), [(1.4, False), (1.6, True), (-1.6, True)])
def test_a_step_has_to_say_more_than_a_straight_line(size: float, passes: bool) -> None:
    """Through a step in the middle, a line explains three quarters of what the step does.

    A quarter of 10 size^2 beside a rest of 40 is evidence of 4.3 at 1.4, and of 5.6 at 1.6.
    """
    values = levels((20, 0.0), (20, size))
    assert (strength_of(values, (0, 20, 40)) > 0.0) == passes


def test_a_line_is_no_step() -> None:
    values = np.arange(40.0)
    assert strength_of(values, (0, 20, 40)) == 0.0
    # Here the line explains all, which no split does.
    assert strength_of(values, (0, 20, 40), rest=1e-6) == 0.0


@pytest.mark.parametrize(
    ("share", "part"), [(0.0, None), (0.01, 0.65), (0.015, 0.875), (0.018, 1.0), (0.5, 1.0)]
)
@pytest.mark.parametrize("count", [3, 11, 12])
def test_a_short_side_without_its_best_value(share: float, part: float | None, count: int) -> None:
    """The more values were clipped, the more of the evidence has to be left without it."""
    values = levels((100, 0.0), (count - 1, 4.0), (1, 6.0))
    place = (0, 100, 100 + count)
    level = 4.0 + 2.0 / count
    whole = evidence(level**2 * 100 * count / (100 + count), 100.0, 98.0, 1.0)
    spare = evidence(16.0 * 100 * (count - 1) / (99 + count), 100.0, 98.0, 1.0)
    expected = whole if part is None or count == 12 else min(whole, spare / part)
    for each, at in ((values, place), (values[::-1].copy(), (0, count, 100 + count))):
        assert strength_of(each, at, 100.0, 98.0, share=share) == pytest.approx(expected)


@pytest.mark.parametrize("count", [11, 12])
def test_a_short_side_beside_heavy_tails(count: int) -> None:
    """Two values in fifty that are 8 away: the kurtosis is 25, so its excess 22."""
    values = np.zeros(50 + count)
    values[[10, 30]] = [8.0, -8.0]
    values[50:] = 5.0
    place = (0, 50, 50 + count)
    light = strength_of(values, place, 128.0, 60.0)
    heavy = strength_of(values, place, 128.0, 60.0, tail=0.35)
    excess = 25.0 - 3.0 - 2.0 / math.sqrt(50)
    assert heavy == pytest.approx(light / (1.0 + 0.35 * excess) if count == 11 else light)


def test_strengths_use_the_noise_of_both_sides() -> None:
    """Two steps, three segments of 20 with an error of 20, 20 and 80: 38 degrees on both sides."""
    values = levels((20, 0.0), (20, 5.0), (20, 1.0)) + zigzag(60)
    values[40:] += zigzag(20)
    edges = np.array([0, 20, 40, 60])
    sums = sums_of(values)
    memo = memo_of(values, sums)
    strengths = strengths_of(values, sums, edges, PLAIN, LEAST, memo)
    expected = [37.5 * math.log(1 + 250 / 40), 37.5 * math.log(1 + 160 / 100)]
    assert strengths.tolist() == pytest.approx(expected)


def test_short_sides_share_what_all_segments_say_of_the_noise() -> None:
    """Two steps, three segments of 10 with an error of 10 each: 27 degrees are left of 30."""
    values = levels((10, 0.0), (10, 6.0), (10, 0.0)) + zigzag(30)
    edges = np.array([0, 10, 20, 30])
    sums = sums_of(values)
    memo = memo_of(values, sums)
    strengths = strengths_of(values, sums, edges, PLAIN, LEAST, memo)
    expected = [26.5 * math.log(1 + 180 / 30)] * 2
    assert strengths.tolist() == pytest.approx(expected)
    similar = strengths_of(values, sums, edges, PLAIN._replace(phi=0.3), LEAST, memo)
    assert np.all(similar < strengths)
    # No deviation below 2 is believed: the error left is 27 times its square.
    coarse = strengths_of(values, sums, edges, PLAIN._replace(smallest=4.0), LEAST, memo)
    expected = [26.5 * math.log(1 + 180 / 108)] * 2
    assert coarse.tolist() == pytest.approx(expected)


def inner_for(values: Floats, *intervals: tuple[int, int, int]) -> Inner:
    """Inner intervals: start, split and stop of each, with what the split explains."""
    gains = [
        (np.mean(values[at:stop]) - np.mean(values[start:at])) ** 2
        * (at - start)
        * (stop - at)
        / (stop - start)
        for start, at, stop in intervals
    ]
    starts, splits, stops = np.array(intervals).T.copy()
    return starts, stops, splits, np.array(gains)


def inside(
    values: Floats, edges: list[int], inner: Inner, limit: float, sizes: Sizes = PLAIN
) -> tuple[int, int]:
    sums = sums_of(values)
    bounds = np.array(edges)
    parts = parts_of(values, sums, bounds, LEAST, memo_of(values, sums))
    return best_inner(values, sums, bounds, parts, inner, sizes, limit)


def test_the_split_of_an_inner_interval_passes_at_its_strength() -> None:
    """A pulse of 4 for 20 values of 120: taken out, it leaves 120 of noise and 97 before it.

    The squared error of the series is 120 + 16 * 20 * 100 / 120. The split at 50 of an interval
    of 40 explains 16 * 20 * 20 / 40 = 160 of it.
    """
    values = levels((50, 0.0), (20, 4.0), (50, 0.0)) + zigzag(120)
    inner = inner_for(values, (30, 50, 70))
    error = 120 + 16 * 20 * 100 / 120
    expected = 117.5 * math.log(1 + 160 / (error - 160))
    assert inside(values, [0, 120], inner, 0.999 * expected) == (0, 50)
    assert inside(values, [0, 120], inner, 1.001 * expected) == (-1, -1)


@pytest.mark.parametrize("side", [30, 80])
def test_an_inner_interval_in_autocorrelated_noise(side: int) -> None:
    """Beside a short side, autocorrelation counts more. Ramps do not matter here."""
    sizes = PLAIN._replace(phi=0.2, trust=0.0)
    values = levels((100, 0.0), (80, 3.0), (120, 0.0)) + alike(300)
    inner = inner_for(values, (100 - side, 100, 100 + side))
    rest = float(np.sum((values - np.mean(values)) ** 2)) - inner[3][0]
    factor = split_factor(0.2 if side == 80 else 0.2 + PHI_NEAR, 0.0, float(side), float(side))
    expected = evidence(float(inner[3][0]), rest, 298.0, factor)
    assert inside(values, [0, 300], inner, 0.999 * expected, sizes) == (0, 100)
    assert inside(values, [0, 300], inner, 1.001 * expected, sizes) == (-1, -1)


def test_inner_intervals_lie_inside_one_segment_and_the_largest_gain_comes_first() -> None:
    values = levels((50, 0.0), (20, 4.0), (50, 0.0), (60, -9.0), (20, -4.0), (20, -9.0))
    values += zigzag(220)
    pulse, dip, second = (30, 50, 70), (100, 120, 140), (160, 180, 200)
    inner = inner_for(values, pulse, dip, second)
    assert inside(values, [0, 220], inner, 5.0) == (0, 120), "the largest step of all"
    assert inside(values, [0, 120, 220], inner, 5.0) == (1, 180), "that one crosses an edge"
    assert inside(values, [0, 50, 120, 220], inner_for(values, pulse), 5.0) == (-1, -1)
    alike = inner_for(values, (40, 50, 60), (60, 70, 80))
    assert inside(values, [0, 120, 220], alike, 5.0) == (0, 50), "of equal gains the first"


def test_of_many_equal_inner_intervals_the_first_one_counts() -> None:
    """In whatever order they are given: a series that grows has them in another one."""
    values = np.tile(levels((20, 0.0), (20, 4.0)), 40) + zigzag(1600)
    values[:80] *= 0.8
    intervals = [(start, start + 20, start + 40) for start in range(0, 1600, 40)]
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(intervals))
        inner = inner_for(values, *(intervals[i] for i in order))
        assert inside(values, [0, 1600], inner, 5.0) == (0, 100)


def test_an_inner_interval_that_a_guard_refuses_gives_way_to_the_next() -> None:
    """The larger gain is that of a ramp, which is no change."""
    values = levels((100, 0.0), (20, 4.0), (80, 0.0)) + zigzag(200)
    values[:40] += np.linspace(0.0, 12.0, 40)
    ramp, pulse = (0, 20, 40), (80, 100, 120)
    inner = inner_for(values, ramp, pulse)
    assert inner[3][0] > inner[3][1]
    assert inside(values, [0, 200], inner, 10.0) == (0, 100)
    assert inside(values, [0, 200], inner_for(values, ramp), 1.0) == (-1, -1)


@pytest.mark.parametrize(("length", "count"), [(11, 0), (12, 1), (16, 1), (17, 2), (18, 3)])
def test_inner_intervals_end_with_the_series(length: int, count: int) -> None:
    values = noise(1, length)
    sums = sums_of(values)
    starts, stops, _, gains = inner_of(sums, memo_of(values, sums)[2], LEAST)
    assert len(starts) == len(gains) == count
    assert np.all(stops <= length)


def test_the_grid_of_inner_intervals_holds_every_change_in_a_middle_half() -> None:
    starts, stops = grid(200)
    lengths = sorted(set((stops - starts).tolist()))
    assert lengths == pytest.approx([12.0 * 2.0 ** (i / 2.0) for i in range(9)], abs=1.0)
    for length in lengths:
        mine = [
            (start, stop)
            for start, stop in zip(starts, stops, strict=True)
            if stop - start == length
        ]
        assert mine[0][0] == 0
        for at in range(length // 4 + 1, 200 - length):
            assert any(start + length // 4 <= at <= stop - length // 4 for start, stop in mine)


@pytest.mark.parametrize("unit", [1.0, -1.0, 1e-4, 1e5])
def test_a_step_without_noise_and_how_sure_it_is(unit: float) -> None:
    """All there is of noise is the smallest deviation believed, here a tenth of the unit."""
    values = unit * levels((40, 2.0), (60, 5.0))
    at, strengths = found(values, 20.0, PLAIN._replace(smallest=0.01 * unit**2))
    assert at == [40]
    assert strengths == pytest.approx([97.5 * math.log(1 + 9 * 24 / 0.98)])


def test_one_score_may_stand_out_of_a_short_level() -> None:
    """Scores are not clipped, so that a fifth of the evidence is enough without the best one."""
    scores = levels((60, 0.0), (4, 5.0), (1, 12.0)) + zigzag(65)
    places, strengths = changes_of_scores(scores, 20.0, 1e-9, LEAST)
    assert places.tolist() == [60]
    assert strengths.tolist() == pytest.approx([evidence_of(scores, 60)])
    assert changes_of_scores(scores, strengths[0] + 0.1, 1e-9, LEAST)[0].tolist() == []


def alike(length: int) -> Floats:
    """Values whose neighbours are alike: half of what a pair at lag 2 differs by is in each."""
    return np.resize([1.4, 0.6, -1.4, -0.6], length)


def evidence_of(values: Floats, at: int, *others: int) -> float:
    """The evidence for a split of all values, in noise of some autocorrelation beside all steps."""
    n = len(values)
    left, right = values[:at], values[at:]
    rest = float(np.sum((left - np.mean(left)) ** 2) + np.sum((right - np.mean(right)) ** 2))
    phi = counted_phi(*differences(values, [0, at, *others, n]), n, 1 + len(others))
    gain = float(np.sum((values - np.mean(values)) ** 2)) - rest
    factor = split_factor(phi, PHI_NEAR, float(at), float(n - at))
    return evidence(gain, rest, float(n - 2), factor)


@pytest.mark.parametrize("pattern", [zigzag, alike])
def test_the_first_split_has_to_pass_beside_what_is_not_found_yet(
    pattern: Callable[[int], Floats],
) -> None:
    """A level that comes and goes is noise to its first step.

    Beside each other both steps are evident, and by the inner intervals twice the limit.
    """
    values = levels((120, 0.0), (120, 3.0), (60, 0.0)) + pattern(300)
    needed = evidence_of(values, 120, 240)
    assert found(values, 0.995 * needed)[0] == [120, 240]
    assert found(values, 1.005 * needed)[0] == []


@pytest.mark.parametrize(
    ("seed", "length", "rise"),
    [(28, 200, 3.0), (147, 200, 3.0), (201, 200, 3.0), (94, 90, 5.0), (300, 90, 5.0)],
)
@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_a_ramp_that_looks_like_stairs_is_none(
    seed: int, length: int, rise: float, unit: float
) -> None:
    """Of some hundred ramps a few could be cut in levels, which say no more than a line does."""
    values = noise(seed, length) + np.linspace(0.0, rise, length)
    assert found(unit * values, 15.0)[0] == []


@pytest.mark.parametrize("seed", range(6))
def test_a_series_read_backwards_has_the_same_changes(seed: int) -> None:
    values = noise(seed, 160) + levels((40, 0.0), (55, 4.0), (60, -1.0), (5, 7.0))
    at, strengths = found(values, 20.0)
    assert at == pytest.approx([40, 95, 155], abs=1)
    back, same = found(values[::-1].copy(), 20.0)
    assert [160 - place for place in back[::-1]] == at
    assert same[::-1] == pytest.approx(strengths)
    for unit, shift in ((1e-7, 0.0), (1e7, 0.0), (-1.0, 0.0), (1.0, -300.0)):
        moved, same = found(values * unit + shift, 20.0, PLAIN._replace(smallest=1e-18 * unit**2))
        assert moved == at
        assert same == pytest.approx(strengths)


def moved_to(values: Floats, clipped: Floats) -> list[int]:
    """Places of the changes of values whose noise is 1 or -1, in a unit in which that is 0.25."""
    sums = sums_of(0.25 * clipped)
    memo = memo_of(0.25 * clipped, sums)
    inner = inner_of(sums, memo[2], LEAST)
    at, _ = search(0.25 * values, 0.25 * clipped, sums, 0.25, 20.0, PLAIN, LEAST, memo, inner)
    return [int(place) for place in at]


@pytest.mark.parametrize("turned", [1.0, -1.0])
def test_a_late_step_is_where_its_first_values_are_though_they_were_clipped(turned: float) -> None:
    """Taken for spikes, the first two of five values were moved back to the old level."""
    values = turned * (levels((55, 10.0), (5, 50.0)) + zigzag(60))
    clipped = values.copy()
    clipped[55:57] = turned * 11.0
    assert moved_to(values, clipped) == [55]
    assert moved_to(values[::-1].copy(), clipped[::-1].copy()) == [5]


def test_both_edges_of_a_short_level_are_moved() -> None:
    values = levels((50, 0.0), (5, 40.0), (45, 0.0)) + zigzag(100)
    clipped = values.copy()
    clipped[[50, 54]] = 1.0
    assert moved_to(values, clipped) == [50, 55]


def test_a_step_with_a_window_of_values_on_both_sides_is_not_moved() -> None:
    """From six values on, the neighbourhood of the first ones shows the new level."""
    values = levels((53, 0.0), (7, 40.0)) + zigzag(60)
    clipped = values.copy()
    clipped[53] = 1.0
    assert moved_to(values, clipped) == [54]


@pytest.mark.parametrize("spike", [-400.0, 400.0])
@pytest.mark.parametrize("at", [40, 56, 57])
def test_a_spike_near_a_late_step_does_not_move_it(at: int, spike: float) -> None:
    values = levels((55, 0.0), (5, 40.0)) + zigzag(60)
    clipped = values.copy()
    values[at] += spike
    assert moved_to(values, clipped) == [55]
