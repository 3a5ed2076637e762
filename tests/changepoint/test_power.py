"""What a series is said to be able to show is shown in four of five."""

from __future__ import annotations

import math

import numpy as np
import pytest

from changepoint import detect
from changepoint.evaluate.powers import power
from changepoint.evaluate.simulate import NOISES, SeriesShape, draw
from changepoint.series import Floats

TRIALS = 100


def unchanged(positions: int, replicates: int = 1, sigma: float = 2.0, seed: int = 3) -> Floats:
    random = np.random.default_rng(seed)
    return draw(NOISES["gauss"], SeriesShape(positions, replicates), random, sigma=sigma)


@pytest.mark.parametrize("noise", ["gauss", "t3"])
@pytest.mark.parametrize("fresh", [False, True], ids=["middle", "fresh"])
@pytest.mark.parametrize(("positions", "replicates"), [(8, 3), (12, 3), (24, 1), (45, 3), (200, 1)])
def test_four_of_five_steps_of_the_size_reported_are_found(
    noise: str, fresh: bool, positions: int, replicates: int
) -> None:
    got = power(NOISES[noise], SeriesShape(positions, replicates), TRIALS, 51, fresh=fresh)
    assert got.found.trials == TRIALS
    # A share of .8 has a deviation of .04 here; heavy tails may cost a tenth more.
    assert got.found.value >= (0.7 if noise == "gauss" else 0.65)
    assert got.found.value <= 0.97


@pytest.mark.parametrize("positions", [20, 45])
def test_a_step_that_is_just_worth_a_word_is_reported_half_the_time_and_not_promised(
    positions: int,
) -> None:
    """Half of the steps of just the smallest effect measure less."""
    quiet = detect(unchanged(positions, 3, sigma=0.05), min_effect=0.03)
    assert quiet.detectable_effect == pytest.approx(0.03, rel=0.02)
    assert quiet.detectable_effect > 0.03
    got = power(NOISES["gauss"], SeriesShape(200, 3), TRIALS, 52, min_effect=0.03)
    assert got.reported > 0.03
    assert 0.68 <= got.found.value <= 0.92


def test_more_noise_fewer_runs_and_a_smaller_budget_show_less() -> None:
    usual = detect(unchanged(45))
    assert detect(unchanged(45, sigma=4.0)).detectable_effect > 1.8 * usual.detectable_effect
    assert detect(unchanged(200)).detectable_effect < 0.6 * usual.detectable_effect
    strict = detect(unchanged(45), alarms_per_1000=0.01)
    assert strict.detectable_fresh > 1.1 * usual.detectable_fresh
    assert usual.detectable_fresh > usual.detectable_effect
    labels = SeriesShape(12, 3).labels()
    ladder = detect(unchanged(12, 3), positions=labels)
    tight = detect(unchanged(12, 3), positions=labels, alarms_per_1000=0.01)
    assert ladder.detectable_effect < tight.detectable_effect < math.inf


@pytest.mark.parametrize(
    ("positions", "replicates", "fresh", "middle"),
    [
        (0, 1, False, False),
        (1, 3, False, False),
        (3, 3, False, False),
        (4, 3, True, True),
        # No order of two levels in nine positions is rare enough.
        (9, 1, False, False),
        (10, 1, True, True),
        (20, 1, True, True),
        (21, 1, True, True),
    ],
)
def test_what_is_too_short_shows_nothing(
    positions: int, replicates: int, fresh: bool, middle: bool
) -> None:
    values = unchanged(positions, replicates)
    found = detect(values, positions=SeriesShape(positions, replicates).labels())
    assert math.isfinite(found.detectable_effect) is middle
    assert math.isfinite(found.detectable_fresh) is fresh


def test_permutations_of_few_values_prove_nothing() -> None:
    values = unchanged(3, 3)
    values[3:] *= 1.5
    assert not detect(values, positions=SeriesShape(3, 3).labels()).changes


def test_a_level_of_zero_has_no_relative_step() -> None:
    assert detect([0.0] * 40).detectable_effect == math.inf


@pytest.mark.parametrize("method", ["edivisive", "hunter"])
def test_every_method_reports_something(method: str) -> None:
    found = detect(unchanged(60), method=method)
    assert 0.0 < found.detectable_effect <= found.detectable_fresh < 0.2
