"""What each guard of the default method keeps from being a change, and what it lets pass.

The cases are few and short, so that they also run without the compiler: mutation tests run them
thousands of times.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import changepoint
from changepoint.detection.default import equal_neighbours, floor_of
from changepoint.detection.modes import demixed, level_of, refit, two_modes
from changepoint.detection.scan import (
    mean_factor,
    on_grid,
    rough_scale,
    split_factor,
    sums_of,
)
from changepoint.detection.segment import inner_limit
from changepoint.noise import NORMAL_MEDIAN, NORMAL_QUANTILE, clip_replicates, quantum
from changepoint.series import RESOLUTION, Floats

detect = functools.partial(changepoint.detect, method="default")


def noise(seed: int, length: int) -> Floats:
    return 100.0 + np.random.default_rng(seed).normal(0.0, 1.0, length)


def places(values: Floats) -> list[int]:
    return [change.index for change in detect(values).changes]


def autoregression(seed: int, length: int, coefficient: float) -> Floats:
    values = noise(seed, length) - 100.0
    for i in range(1, length):
        values[i] += coefficient * values[i - 1]
    return 100.0 + values


def test_autocorrelated_noise_has_no_levels() -> None:
    """Taken for independent, a third of these series would have a change."""
    assert sum(bool(places(autoregression(seed, 120, 0.6))) for seed in range(40)) <= 4


def test_one_value_carries_no_change_where_spikes_are_common() -> None:
    found = {"rare": 0, "common": 0}
    for seed in range(20):
        values = noise(seed, 100)
        values[-3:] = [104.0, 102.5, 102.5]
        found["rare"] += bool(places(values))
        values[5:95:9] += 20.0 * (-1.0) ** np.arange(10)
        found["common"] += bool(places(values))
    assert found["rare"] >= 18
    assert found["common"] == 0


def test_edges_are_moved_to_their_best_places_once_all_changes_are_known() -> None:
    """A first split that ignores the second step is up to twice as far off."""
    off = 0
    for seed in range(60):
        values = noise(seed, 120)
        values[40:] += 2.5
        values[80:] += 2.5
        first, second = places(values)
        off += abs(first - 40) + abs(second - 80)
    assert off <= 50


@pytest.mark.parametrize(
    ("values", "floor"),
    [
        ([1.0, 1.0, 1.0, 1.5, 1.5, 3.0, 3.0], 0.25),
        ([0.25, 0.25, 0.25, 1.0, 0.25], 0.375),
        ([1.0, 1.25, 1.5, 1.75, 1.75], RESOLUTION),
        ([1.0, 1.0, 2.0, 4.0], RESOLUTION),
        ([1.0, 1.0, 1.0, 1.0], RESOLUTION),
        ([1.0, 1.0, 1.0, 1.0 + 1.5 * RESOLUTION], RESOLUTION),
    ],
)
def test_no_deviation_is_below_half_the_unit_in_which_most_values_are_equal(
    values: list[float], floor: float
) -> None:
    given = np.array(values)
    assert floor_of(given, equal_neighbours(given)) == floor


@pytest.mark.parametrize("coefficient", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("count", [1, 2, 7, 30])
def test_a_mean_of_autocorrelated_values_varies_as_their_covariances_say(
    coefficient: float, count: int
) -> None:
    places = np.arange(count)
    covariances = coefficient ** np.abs(places[:, None] - places)
    assert mean_factor(coefficient, float(count)) == pytest.approx(np.sum(covariances) / count)


def test_a_short_side_is_taken_for_more_autocorrelated() -> None:
    long, short = split_factor(0.2, 0.5, 40.0, 60.0), split_factor(0.2, 0.5, 39.0, 61.0)
    assert long == pytest.approx(1.5, rel=0.02), "(1 + .2) / (1 - .2), nearly"
    assert short == pytest.approx(5.2, rel=0.05), "(1 + .7) / (1 - .7), nearly"
    assert split_factor(0.85, 0.5, 100.0, 5.0) == split_factor(0.4, 0.5, 100.0, 5.0), "at most .9"
    assert split_factor(0.0, 0.5, 3.0, 100.0) == 1.0
    known = split_factor(0.2, 0.0, 39.0, 61.0)
    assert known == pytest.approx(1.5, rel=0.02), "nothing is added to a known one"


@pytest.mark.parametrize(
    ("gap", "scale"), [(1.0, 1.0 / NORMAL_MEDIAN / math.sqrt(2.0)), (0.0, 0.1)]
)
def test_the_scale_is_of_the_differences_of_neighbours(gap: float, scale: float) -> None:
    """Where most neighbours are equal, half the mean of the differences takes its place."""
    values = np.cumsum([0.0, *[gap, -gap] * 9, 2.0, -2.0])
    found = rough_scale(values)
    assert found == pytest.approx(scale, rel=0.011)
    assert found == on_grid(found) == on_grid(found * 1.005)
    assert rough_scale(np.zeros(9)) == 0.0


def test_a_split_of_an_inner_interval_needs_twice_the_evidence() -> None:
    assert inner_limit(20.0) == 40.0
    assert inner_limit(8.0) == 22.0


@pytest.mark.parametrize("below", [6.0, -6.0])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_level_of_two_modes_is_that_of_the_first(below: float, share: float) -> None:
    random = np.random.default_rng(5)
    values = 10.0 + random.normal(0.0, 1.0, 60) - below * (np.arange(60) < 60 * share)
    values[40] += 30.0
    modes = (below, share, 1.0)
    likelihood, level = level_of(values, modes)
    assert level == pytest.approx(10.0, abs=0.4)
    for other in (-below, -0.5, 0.5, below):
        moved = values + other
        assert level_of(moved, modes)[1] == pytest.approx(level + other, abs=0.01)
        assert level_of(moved, modes)[0] == pytest.approx(likelihood, abs=0.01)
    plain, (again,) = demixed(values, np.array([0, 60]), modes)
    assert again == level
    assert np.std(np.delete(plain, 40)) < 1.3, "of values around the level alone"
    assert plain[40] == level, "what fits neither mode says nothing of the level"


@pytest.mark.parametrize(("apart", "share"), [(6.0, 0.3), (-6.0, 0.3), (5.0, 0.45)])
def test_modes_are_found_as_they_were_drawn(apart: float, share: float) -> None:
    random = np.random.default_rng(6)
    values = random.normal(0.0, 1.0, 400) - apart * (random.random(400) < share)
    edges = np.array([0, 400])
    rest = float(np.sum((values - np.mean(values)) ** 2))
    found = two_modes(values, sums_of(values), edges, rest)
    assert found == pytest.approx((apart, share, 1.0), rel=0.12)
    better = refit(values, edges, (found[0] * 1.1, found[1] * 0.8, found[2] * 1.2), 1e-9)
    assert better == pytest.approx((apart, share, 1.0), rel=0.1)
    for few in (values[:39], random.normal(0.0, 1.0, 400)):
        whole = np.array([0, len(few)])
        rest = float(np.sum((few - np.mean(few)) ** 2))
        assert two_modes(few, sums_of(few), whole, rest) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("values", "offsets", "unit"),
    [
        ([1.0, 1.0, 1.5, 9.0, 9.75], [0, 3, 5], 0.5),
        ([1.0, 1.5, 9.0, 9.75], [0, 2, 4], 0.0),
        ([1.0, 1.0, 9.0, 9.0], [0, 2, 4], 0.0),
        ([3.0, 1.0, 3.0, 2.9], [0, 3, 4], 2.0),
        ([], [0], 0.0),
    ],
)
def test_the_unit_of_values_is_their_smallest_step_inside_a_group(
    values: list[float], offsets: list[int], unit: float
) -> None:
    assert quantum(np.array(values), np.array(offsets), 1e-9) == unit


def test_only_replicates_that_most_of_their_position_contradict_are_clipped() -> None:
    positions = np.tile([0.0, 1.0, 2.0], (20, 1))
    positions[4] = [0.0, 1.0, 50.0]
    positions[7] = [0.0, 1.0, 7.0]
    positions[9] = [-50.0, 1.0, 50.0]
    values = positions.ravel()
    clipped = clip_replicates(values, np.arange(0, 61, 3)).reshape(20, 3)
    # Three deviations of a replicate, three quarters of whose differences are at most 2.
    reach = 3.0 * 2.0 / NORMAL_QUANTILE / math.sqrt(2.0)
    assert clipped[4].tolist() == pytest.approx([0.0, 1.0, 1.0 + reach])
    assert clipped[7].tolist() == pytest.approx([0.0, 1.0, 1.0 + reach])
    assert clipped[9].tolist() == [-50.0, 1.0, 50.0], "nobody can say which are the spikes"
    assert np.array_equal(np.delete(clipped, [4, 7], 0), np.delete(positions, [4, 7], 0))
    alike = np.array([1.0, 1.0, 5.0] * 9 + [1.0])
    assert np.array_equal(clip_replicates(alike, np.arange(29)), alike)


@pytest.mark.parametrize("nights", [2, 3])
def test_a_step_of_a_few_replicated_nights_is_found(nights: int) -> None:
    """The mean of replicates was rid of spikes, so that it may stick out further than a value."""
    positions = np.repeat(np.arange(60), 3)
    for seed in range(10):
        values = noise(seed, 180)
        values[-3 * nights :] += 4.0
        (change,) = detect(values, positions=positions).changes
        assert change.position == 60 - nights
