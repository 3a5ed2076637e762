"""What the kernels of the scan promise, against numpy, scipy and figures worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from changepoint.detection.scan import (
    best_gain,
    clipped_counts,
    evidence,
    heaviness,
    line_gain,
    set_clipped,
    set_sums,
    share_of,
    spare_gain,
    squared_differences,
    squared_error,
    sums_of,
)
from changepoint.series import Floats


def noise(seed: int, length: int) -> Floats:
    return np.random.default_rng(seed).normal(3.0, 2.0, length)


def error_of(values: Floats) -> float:
    """The squared error around the mean, for any number of values."""
    return float(np.sum((values - np.mean(values)) ** 2)) if len(values) else 0.0


def gain_of(left: Floats, right: Floats) -> float:
    """The squared error that a split explains."""
    return error_of(np.concatenate((left, right))) - error_of(left) - error_of(right)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 7, 8, 9, 15])
def test_sums_of_squares_are_those_of_all_values(length: int) -> None:
    """The values that fill no whole lane count as the others do."""
    values = noise(1, length)
    assert squared_error(values, 2.5) == pytest.approx(float(np.sum((values - 2.5) ** 2)))
    for lag in (1, 2):
        apart = values[lag:] - values[:-lag]
        assert squared_differences(values, lag) == pytest.approx(float(np.sum(apart**2)))


def test_running_sums_continue_where_they_ended() -> None:
    values = np.array([2.0, -1.0, 4.0, 0.5])
    total, moment = sums_of(values)
    assert total.tolist() == [0.0, 2.0, 1.0, 5.0, 5.5]
    assert moment.tolist() == [0.0, 0.0, -1.0, 7.0, 8.5]
    values[2] = 1.0
    set_sums(values, 2, (total, moment))
    assert total.tolist() == [0.0, 2.0, 1.0, 2.0, 2.5]
    assert moment.tolist() == [0.0, 0.0, -1.0, 1.0, 2.5]


@pytest.mark.parametrize("least", [1, 2, 3])
def test_the_best_split_is_the_best_of_all_splits(least: int) -> None:
    for seed in range(5):
        values = noise(seed, 30)
        for start, stop in ((0, 30), (4, 21), (11, 11 + 2 * least)):
            gains = {
                at: gain_of(values[start:at], values[at:stop])
                for at in range(start + least, stop - least + 1)
            }
            gain, at = best_gain(sums_of(values)[0], start, stop, least)
            assert gain == pytest.approx(max(gains.values()))
            assert at == max(gains, key=gains.__getitem__)
        assert best_gain(sums_of(values)[0], 5, 4 + 2 * least, least) == (-1.0, -1)


@pytest.mark.parametrize(("start", "stop"), [(0, 3), (0, 5), (7, 12), (2, 30)])
def test_a_line_explains_what_least_squares_do(start: int, stop: int) -> None:
    values = noise(2, 30) + 0.2 * np.arange(30)
    part, at = values[start:stop], np.arange(stop - start)
    fitted = np.polyval(np.polyfit(at, part, 1), at)
    explained = error_of(part) - float(np.sum((part - fitted) ** 2))
    assert line_gain(*sums_of(values), start, stop) == pytest.approx(explained)


@pytest.mark.parametrize("turned", [1.0, -1.0])
@pytest.mark.parametrize(("start", "at", "stop"), [(0, 4, 12), (5, 17, 20), (3, 6, 10)])
def test_a_split_without_the_value_that_speaks_most_for_it(
    start: int, at: int, stop: int, turned: float
) -> None:
    """What is left is the gain of the same split when that value was never measured."""
    values = turned * noise(3, 20)
    values[at:] += turned * 5.0
    left, right = values[start:at], values[at:stop]
    if len(left) <= len(right):
        left = np.delete(left, np.argmin(turned * left))
    else:
        right = np.delete(right, np.argmax(turned * right))
    found = spare_gain(values, sums_of(values)[0], start, at, stop)
    assert found == pytest.approx(gain_of(left, right))


@pytest.mark.parametrize("rest", [-0.1, 0.0])
def test_nothing_is_left_of_a_split_that_stands_on_one_value(rest: float) -> None:
    values = np.array([0.0, 0.0, 0.0, 0.0, rest, 9.0, rest])
    assert spare_gain(values, sums_of(values)[0], 0, 4, 7) == 0.0


def test_a_value_below_zero_may_be_the_one_that_speaks_most() -> None:
    values = np.array([-50.0] * 6 + [-40.0, -30.0, -40.0])
    expected = gain_of(values[:6], values[[6, 8]])
    assert spare_gain(values, sums_of(values)[0], 0, 6, 9) == pytest.approx(expected)


@pytest.mark.parametrize("place", [(0, 4, 60), (0, 56, 60), (20, 55, 58), (20, 38, 60)])
def test_tails_are_judged_by_the_kurtosis_of_the_larger_side(place: tuple[int, int, int]) -> None:
    values = np.random.default_rng(4).standard_t(2.5, 60)
    values[place[1] :] += 3.0
    sides = values[place[0] : place[1]], values[place[1] : place[2]]
    larger = max(sides, key=len)
    # Two deviations of the mean are let pass: the kurtosis of few values is badly known.
    expected = float(stats.kurtosis(larger)) - 2.0 / math.sqrt(len(larger))
    assert expected > 0.0
    assert heaviness(values, sums_of(values)[0], place) == pytest.approx(expected)


def test_light_tails_and_equal_values_are_not_heavy() -> None:
    for values in (np.tile([1.0, -1.0], 20), np.ones(40)):
        assert heaviness(values, sums_of(values)[0], (0, 5, 40)) == 0.0


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (3.9, 3.9),
        (4.25, 3.75),
        (6.0, 2.0),
        (7.5, 1.0),
        (1e6, 1.0),
        (-3.9, -3.9),
        (-4.25, -3.75),
        (-6.0, -2.0),
        (-1e6, -1.0),
    ],
)
@pytest.mark.parametrize("at", [0, 3, 15, 27, 29])
def test_a_value_is_moved_back_the_further_it_sticks_out(
    value: float, kept: float, at: int
) -> None:
    """Up to four deviations it stays; from seven on one is left; the ends are no exception."""
    values = 20.0 + np.zeros(30)
    values[at] += 2.0 * value
    clipped = np.full(30, np.nan)
    set_clipped(values, 2.0, 0, clipped)
    assert clipped[at] == pytest.approx(20.0 + 2.0 * kept)
    assert np.all(np.delete(clipped, at) == 20.0)


def test_the_neighbourhood_of_a_value_is_five_to_either_side() -> None:
    """Five of eleven values alike are spikes; six are a level, from which the others stick out."""
    values = np.zeros(40)
    values[20:25] = 50.0
    clipped = np.empty(40)
    set_clipped(values, 1.0, 0, clipped)
    assert clipped.tolist() == [0.0] * 20 + [1.0] * 5 + [0.0] * 15
    values[20:26] = 50.0
    set_clipped(values, 1.0, 0, clipped)
    # The neighbourhood of each of the six holds all six.
    assert np.array_equal(clipped, values)
    values[20:31] = 50.0
    values[25] = 0.0
    set_clipped(values, 1.0, 0, clipped)
    assert clipped[25] == 49.0


def test_the_middle_of_an_even_neighbourhood_is_between_its_two_middle_values() -> None:
    """The first value has six neighbours with itself: 2 and 3 are in the middle of them."""
    values = np.array([100.0, 1.0, 2.0, 3.0, 4.0, 0.0, *[2.0] * 10])
    clipped = np.empty(16)
    set_clipped(values, 1.0, 0, clipped)
    assert clipped[0] == 3.5
    assert np.array_equal(clipped[1:], values[1:])


def test_values_before_the_first_new_one_stay_as_they_were_clipped() -> None:
    values = np.zeros(20)
    values[[3, 12]] = 90.0
    clipped = np.full(20, 7.0)
    set_clipped(values, 1.0, 10, clipped)
    assert clipped.tolist() == [7.0] * 10 + [0.0, 0.0, 1.0, *[0.0] * 7]


def test_a_value_far_out_counts_less_than_one_that_might_be_none() -> None:
    values = np.zeros(50)
    values[[5, 20, 40]] = [8.5, -60.0, 60.0]
    clipped = np.empty(50)
    set_clipped(values, 2.0, 0, clipped)
    assert clipped_counts(values, clipped, 2.0) == (3, 2)
    # .3 for each of the two that were moved all the way, as the table of constants has it.
    assert share_of(3, 2, 50) == pytest.approx((1.0 + 2 * 0.3) / 50)


@pytest.mark.parametrize("degrees", [4.0, 10.0, 60.0, 1000.0])
@pytest.mark.parametrize("t", [2.0, 4.0, 6.0])
def test_evidence_is_a_normal_deviation_as_unlikely_as_the_t(degrees: float, t: float) -> None:
    chance = stats.t.sf(t, degrees)
    exact = stats.norm.isf(chance) ** 2
    found = evidence(t * t, degrees, degrees, 1.0)
    assert exact * 0.85 < found < exact * 1.03
    assert evidence(t * t, degrees, degrees, 2.0) == pytest.approx(
        evidence(t * t / 2.0, degrees, degrees, 1.0)
    ), "autocorrelation makes the difference of two means vary more"
