"""What the search among two modes promises: fits that are the most likely, and known steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from changepoint.detection.inner_intervals import inner_of
from changepoint.detection.interval_cache import memo_of
from changepoint.detection.modes import (
    Modes,
    best_split,
    demixed,
    level_of,
    place,
    refit,
    two_modes,
)
from changepoint.detection.scan import Sizes, sums_of
from changepoint.detection.segment_modes import search_modes
from changepoint.series import Floats, Ints

LEAST = 3
"""Values a side has to have."""


def of_two_modes(seed: int, length: int, modes: Modes) -> Floats:
    """Values around 0, a share of which is a distance below."""
    distance, share, deviation = modes
    random = np.random.default_rng(seed)
    second = random.permutation(length) < round(share * length)
    return random.normal(0.0, deviation, length) - distance * second


def likelihood(values: Floats, level: float, modes: Modes) -> float:
    """Logarithm of the density of values around a level, but for the constant of normal ones.

    Beyond four deviations from both modes a value is as unlikely as at four.
    """
    distance, share, deviation = modes
    away = values - level
    first, second = np.exp(-0.5 * (np.stack((away, away + distance)) / deviation) ** 2)
    density = np.maximum((1.0 - share) * first + share * second, math.exp(-8.0))
    return float(np.sum(np.log(density / deviation)))


def fitted(values: Floats, *edges: int) -> Modes:
    """The modes around the means of segments."""
    bounds = np.array([0, *edges, len(values)])
    parts = np.split(values, bounds[1:-1])
    rest = sum(float(np.sum((part - np.mean(part)) ** 2)) for part in parts)
    return two_modes(values, sums_of(values), bounds, rest)


@pytest.mark.parametrize(
    "modes",
    [(6.0, 0.3, 1.0), (-6.0, 0.3, 1.0), (4.0, 0.45, 1.0), (0.8, 0.15, 0.1), (-900.0, 0.2, 150.0)],
)
def test_the_modes_of_many_values_are_found_exactly(modes: Modes) -> None:
    for seed in range(3):
        found = fitted(of_two_modes(seed, 4000, modes), 1500)
        assert found == pytest.approx(modes, rel=0.04)


@pytest.mark.parametrize("modes", [(8.0, 0.3, 1.0), (5.0, 0.2, 0.5), (40.0, 0.12, 2.0)])
def test_values_turned_round_have_their_modes_turned_round(modes: Modes) -> None:
    """Clipped spikes on either side change that no more than anything else."""
    for seed in range(3):
        values = of_two_modes(seed, 800, modes)
        values[100::300] = 2.5 * modes[0]
        values[200::300] = -2.5 * modes[0]
        distance, share, deviation = fitted(values)
        assert fitted(-values) == pytest.approx((-distance, share, deviation), rel=1e-6)
        assert (distance, share) == pytest.approx(modes[:2], rel=0.2)


@pytest.mark.parametrize(
    ("apart", "share", "reported"),
    [(3.0, 0.5, True), (2.2, 0.5, False), (0.0, 0.5, False), (7.0, 0.14, True), (7.0, 0.07, False)],
)
def test_two_modes_are_two_when_they_are_apart_and_neither_is_rare(
    apart: float, share: float, reported: bool
) -> None:
    """Closer than 2.5 deviations they are one noise; fewer than a tenth are spikes."""
    for sign in (1.0, -1.0):
        for seed in range(3):
            found = fitted(of_two_modes(seed, 4000, (sign * apart, share, 1.0)))
            assert (found != (0.0, 0.0, 0.0)) == reported


def test_few_values_have_to_be_plain_to_be_two_modes() -> None:
    """Of sixty values about half are distinguished at four deviations, nearly all at six."""
    near = [fitted(of_two_modes(seed, 60, (4.0, 0.4, 1.0)))[2] > 0.0 for seed in range(40)]
    far = [fitted(of_two_modes(seed, 60, (6.0, 0.4, 1.0)))[2] > 0.0 for seed in range(40)]
    none = [fitted(of_two_modes(seed, 60, (0.0, 0.4, 1.0)))[2] > 0.0 for seed in range(40)]
    assert 8 <= sum(near) <= 36
    assert sum(far) >= 38
    assert sum(none) == 0
    assert fitted(of_two_modes(1, 39, (9.0, 0.4, 1.0))) == (0.0, 0.0, 0.0)
    assert fitted(of_two_modes(1, 40, (9.0, 0.4, 1.0)))[0] == pytest.approx(9.0, rel=0.1)


def test_modes_are_those_around_the_level_of_each_segment() -> None:
    """Steps larger than the distance of the modes are no modes."""
    values = of_two_modes(7, 600, (6.0, 0.3, 1.0))
    values[200:] += 40.0
    values[450:] -= 90.0
    assert fitted(values, 200, 450) == pytest.approx((6.0, 0.3, 1.0), rel=0.15)
    plain = np.random.default_rng(8).normal(0.0, 1.0, 600)
    plain[300:] += 6.0
    assert fitted(plain)[2] > 0.0, "half of one noise six deviations higher"
    assert fitted(plain, 300) == (0.0, 0.0, 0.0)


def test_values_without_noise_have_one_mode() -> None:
    assert fitted(np.full(100, 3.0)) == (0.0, 0.0, 0.0)


def test_two_values_alone_are_two_modes_of_the_deviation_of_a_bin() -> None:
    """The values fall into bins of a fifth of the deviation of all, 1/sqrt(12) of which is least.

    Equally many of -1 and of 1 have a deviation of 1.
    """
    values = np.tile([-1.0, 1.0], 50)
    distance, share, deviation = fitted(values)
    assert (distance, share) == pytest.approx((2.0, 0.5), abs=0.11)
    assert deviation == pytest.approx(0.2 / math.sqrt(12.0))


LIKELY = [(6.0, 0.3, 1.0), (-6.0, 0.3, 1.0), (3.0, 0.5, 0.5), (-500.0, 0.45, 100.0)]


@pytest.mark.parametrize("modes", LIKELY)
def test_the_level_of_values_is_the_most_likely_one(modes: Modes) -> None:
    for seed in range(4):
        values = 20.0 + of_two_modes(seed, 40, modes)
        values[[7, 30]] += np.array([60.0, -45.0]) * modes[2]
        best, level = level_of(values, modes)
        assert best == pytest.approx(likelihood(values, level, modes))
        around = level + np.linspace(-1.5, 1.5, 151) * abs(modes[0])
        others = [likelihood(values, other, modes) for other in around]
        assert best >= max(others) - 0.02
        assert level == pytest.approx(20.0, abs=0.8 * modes[2])


def test_few_values_of_one_mode_are_taken_for_either() -> None:
    """Three values say nothing of their mode, so the more frequent one it is."""
    values = np.array([4.0, 4.5, 5.0])
    assert level_of(values, (6.0, 0.3, 1.0))[1] == pytest.approx(4.5, abs=0.05)
    assert level_of(values, (6.0, 0.7, 1.0))[1] == pytest.approx(10.5, abs=0.05)
    assert level_of(values, (-6.0, 0.7, 1.0))[1] == pytest.approx(-1.5, abs=0.05)


@pytest.mark.parametrize("modes", LIKELY)
def test_a_place_between_two_levels_is_the_most_likely_one(modes: Modes) -> None:
    for seed in range(4):
        values = of_two_modes(seed, 40, modes)
        values[25:] += 0.9 * modes[2]
        levels = 0.0, 0.9 * modes[2]
        chances = {
            at: likelihood(values[:at], levels[0], modes)
            + likelihood(values[at:], levels[1], modes)
            for at in range(LEAST, 41 - LEAST)
        }
        assert place(values, *levels, modes, LEAST) == max(chances, key=chances.__getitem__)


def test_a_place_leaves_each_side_its_values() -> None:
    modes = (6.0, 0.3, 1.0)
    values = np.zeros(12)
    assert place(values, 0.0, 3.0, modes, LEAST) == 9
    assert place(values, 3.0, 0.0, modes, LEAST) == 3
    assert place(values[:6], 3.0, 0.0, modes, LEAST) == 3


@pytest.mark.parametrize("modes", LIKELY)
def test_the_split_of_two_modes_says_twice_how_much_likelier_two_levels_are(modes: Modes) -> None:
    for seed in range(3):
        values = of_two_modes(seed, 60, modes)
        values[35:] += 4.0 * modes[2]
        ratio, at = best_split(values, 30, modes, LEAST)
        assert at == pytest.approx(35, abs=2)
        whole, left, right = (level_of(part, modes) for part in (values, values[:at], values[at:]))
        two = likelihood(values[:at], left[1], modes) + likelihood(values[at:], right[1], modes)
        assert ratio == pytest.approx(2.0 * (two - likelihood(values, whole[1], modes)))
        assert ratio > 40.0


@pytest.mark.parametrize("modes", LIKELY)
def test_values_without_their_modes_are_those_of_one_noise(modes: Modes) -> None:
    values = of_two_modes(3, 200, modes)
    values[120:] += 7.0 * modes[2]
    values[[10, 150]] += 90.0 * modes[2]
    plain, levels = demixed(values, np.array([0, 120, 200]), modes)
    assert levels.tolist() == pytest.approx([0.0, 7.0 * modes[2]], abs=0.3 * modes[2])
    assert plain[10] == levels[0], "what fits neither mode says nothing of the level"
    assert plain[150] == levels[1]
    rest = np.delete(plain - np.repeat(levels, [120, 80]), [10, 150])
    assert np.max(np.abs(rest)) <= 4.0 * modes[2]
    assert np.std(rest) == pytest.approx(modes[2], rel=0.15)


@pytest.mark.parametrize("modes", LIKELY)
def test_modes_are_fitted_again_around_levels(modes: Modes) -> None:
    """The spikes that fit neither mode take no part; each level costs a degree of freedom."""
    values = of_two_modes(4, 720, modes)
    edges = np.arange(0, 721, 12)
    values += np.repeat(np.arange(60.0) % 7, 12) * 5.0 * modes[2]
    values[5::97] += 80.0 * modes[2]
    rough = (1.1 * modes[0], 0.9 * modes[1], 1.15 * modes[2])
    found = refit(values, edges, rough, 0.0)
    assert found == pytest.approx(modes, rel=0.06)
    assert refit(values, edges, rough, (3.0 * modes[2]) ** 2)[2] >= 3.0 * modes[2]


def test_modes_stay_as_they_are_where_no_value_is_in_the_second() -> None:
    modes = (50.0, 0.1, 1.0)
    values = np.random.default_rng(5).normal(0.0, 1.0, 80)
    assert refit(values, np.array([0, 80]), modes, 0.0) == modes


def search(
    values: Floats, modes: Modes, limit: float, smallest: float = 1e-18
) -> tuple[Ints, Floats]:
    sums = sums_of(values)
    inner = inner_of(sums, memo_of(values, sums)[2], LEAST)
    return search_modes(
        values,
        sums,
        modes,
        limit,
        Sizes(0.0, smallest, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
        LEAST,
        inner,
    )


MODES = [(8.0, 0.3, 1.0), (-8.0, 0.3, 1.0)]


@pytest.mark.parametrize("modes", MODES)
@pytest.mark.parametrize("turned", [1.0, -1.0])
def test_steps_smaller_than_the_distance_of_the_modes_are_found(
    modes: Modes, turned: float
) -> None:
    values = of_two_modes(1, 150, modes)
    values[50:] += turned * 3.0
    values[110:] -= turned * 4.0
    places, strengths = search(values, modes, 16.0)
    assert places.tolist() == pytest.approx([50, 110], abs=2)
    assert np.min(strengths) >= 16.0


def test_a_level_that_comes_and_goes_among_two_modes() -> None:
    """Its two steps are found together: neither splits the series well."""
    modes = (8.0, 0.3, 0.7)
    for seed in range(2):
        values = of_two_modes(seed, 160, modes)
        values[70:95] += 3.0
        assert search(values, modes, 12.0)[0].tolist() == pytest.approx([70, 95], abs=2)


@pytest.mark.parametrize("modes", MODES)
def test_two_modes_and_no_step(modes: Modes) -> None:
    for seed in range(6):
        assert len(search(of_two_modes(seed, 120, modes), modes, 16.0)[0]) == 0


def test_a_change_among_two_modes_has_to_be_as_strong_as_in_plain_noise() -> None:
    """Its likelihood ratio and what is left without modes both count, and 1.25 times the limit."""
    modes = (8.0, 0.3, 1.0)
    values = of_two_modes(1, 120, modes)
    values[60:] += 3.0
    places, (strength,) = search(values, modes, 16.0)
    again = refit(values, np.array([0, *places, 120]), modes, 0.0)
    ratio = best_split(values, 60, again, LEAST)[0]
    most = 117.5 * math.log(1 + ratio / 118) / 1.25
    assert 0.7 * most <= strength <= 1.001 * most
    assert len(search(values, modes, strength + 0.1)[0]) == 0
    assert search(values, modes, strength - 0.1)[0].tolist() == places.tolist()


def test_a_mode_that_lasts_for_days_is_no_level() -> None:
    """The memory of the modes shows in the values as they are, and counts against a change."""
    random = np.random.default_rng(2)
    found = 0
    for _ in range(8):
        second = np.cumsum(random.random(120) < 0.25) % 2
        values = random.normal(0.0, 1.0, 120) - 7.0 * second
        found += len(search(values, (7.0, 0.45, 1.0), 16.0)[0])
    assert found <= 1
