"""Creep: cumulative changes against an anchor, their parts, and what is none."""

from __future__ import annotations

import numpy as np
import pytest

from changepoint import creep
from changepoint.evaluate.creeps import creeping, false, stepwise
from changepoint.evaluate.simulate import NOISES, SeriesShape
from changepoint.series import Floats

RELEASES = SeriesShape(11, 3)


def releases(losses: Floats | float, seed: int = 1, sigma: float = 0.01) -> Floats:
    """Return three runs of each release, of which each but the first loses."""
    random = np.random.default_rng(seed)
    levels = np.cumprod(np.concatenate(([1.0], 1.0 - np.broadcast_to(losses, 10))))
    noise = random.normal(size=(RELEASES.positions, RELEASES.replicates))
    return np.asarray((1000.0 * levels[:, None] * np.exp(sigma * noise)).ravel())


def test_ten_small_losses_are_one_creep_whose_parts_sum_to_the_whole() -> None:
    values = releases(0.005)
    found = creep(values, positions=RELEASES.labels(), smallest=0.02)
    assert found is not None
    assert (found.anchor, found.position, found.absorbed) == (0, 10, ())
    assert found.effect_interval[0] < -0.049 < found.effect_interval[1] < 0.0
    assert [one.position for one in found.contributions] == list(range(1, 11))
    parts = sum(one.effect for one in found.contributions)
    assert parts + found.remainder == pytest.approx(found.effect)
    assert found.after == pytest.approx(found.before * (1.0 + found.effect))
    assert all(one.interval[0] < one.effect < one.interval[1] for one in found.contributions)


def test_revisions_that_are_not_listed_are_the_remainder() -> None:
    values = releases(np.where(np.arange(10) == 4, 0.02, 0.005))
    found = creep(values, positions=RELEASES.labels(), smallest=0.02, most=3)
    assert found is not None
    assert len(found.contributions) == 3
    assert 5 in [one.position for one in found.contributions]
    low, high = found.remainder_interval
    assert low < found.remainder < high
    parts = sum(one.effect for one in found.contributions)
    assert parts + found.remainder == pytest.approx(found.effect)


def test_a_cost_creeps_upwards_and_a_gain_is_no_creep() -> None:
    values, labels = releases(-0.005), RELEASES.labels()
    found = creep(values, positions=labels, better="lower", smallest=0.02)
    assert found is not None
    assert found.effect > 0.02
    assert creep(values, positions=labels, smallest=0.02) is None


def test_a_reported_step_is_its_own_and_no_part_of_the_creep() -> None:
    losses = np.where(np.arange(10) == 4, 0.1, 0.006)
    values, labels = releases(losses, sigma=0.003), RELEASES.labels()
    found = creep(values, positions=labels, changes=[5], smallest=0.02)
    assert found is not None
    (step,) = [one for one in found.contributions if one.step]
    assert step.position == 5
    assert step.effect == pytest.approx(-0.094, abs=0.01)
    assert found.effect == pytest.approx(-0.058, abs=0.01)
    # The step alone is no creep.
    alone = releases(np.where(np.arange(10) == 4, 0.1, 0.0), sigma=0.003)
    assert creep(alone, positions=labels, changes=[5], smallest=0.02) is None


def test_a_step_that_detection_saw_in_a_creep_is_the_creeps_own() -> None:
    values = releases(0.01)
    found = creep(values, positions=RELEASES.labels(), changes=[5], smallest=0.02)
    assert found is not None
    assert found.absorbed == (5,)
    assert not any(one.step for one in found.contributions)


def test_smaller_creeps_than_those_of_interest_are_not_reported() -> None:
    values, labels = releases(0.005), RELEASES.labels()
    assert creep(values, positions=labels, smallest=0.1) is None
    with pytest.raises(ValueError, match="above 0"):
        creep(values, positions=labels, smallest=0.0)


@pytest.mark.parametrize(
    "values",
    [[], [1.0] * 40, [0.0, 1.0] * 20, list(range(1, 10)), [None] * 30, list(range(-20, 20))],
)
def test_series_without_noise_levels_or_length(values: list[float | None]) -> None:
    assert creep(values, better="lower") is None


def test_a_straight_line_without_noise_creeps() -> None:
    found = creep(np.linspace(100.0, 90.0, 21))
    assert found is not None
    assert found.effect == pytest.approx(-0.09, abs=0.02)


def test_an_outlier_moves_neither_end() -> None:
    random = np.random.default_rng(3)
    values = 100.0 * np.exp(-0.002 * np.arange(40) + 0.004 * random.normal(size=40))
    spoiled = values.copy()
    spoiled[[1, 39]] = [40.0, 30.0]
    found, other = creep(values), creep(spoiled)
    assert found is not None
    assert other is not None
    assert other.effect == pytest.approx(found.effect, abs=0.015)


@pytest.mark.parametrize("name", ["gauss", "t3", "spikes", "AR(.5)"])
def test_stable_lines_do_not_creep(name: str) -> None:
    for shape in (SeriesShape(40, 1), SeriesShape(20, 3)):
        _, large = false(NOISES[name], shape, 6, seed=70_011)
        assert not large.hits


def test_most_creeps_are_found_before_they_are_large() -> None:
    got = creeping(NOISES["gauss"], 0.0, 0.0, 30, seed=70_012)
    assert got.found[-1].value >= 0.95
    assert got.found[1].value >= 0.6
    assert got.whole.value >= 0.95
    assert got.each.value >= 0.95
    assert got.sums.value == 1.0
    assert stepwise(2, seed=70_013).trials == 2
