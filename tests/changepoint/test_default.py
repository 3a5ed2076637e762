"""The default method: what it must not mistake for a change, and what it must find."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import changepoint
from changepoint import Detection
from changepoint.detection import calibration
from changepoint.detection.scan import set_clipped
from changepoint.evaluate.simulate import NOISES, SeriesShape, draw
from changepoint.series import Floats

detect = functools.partial(changepoint.detect, method="default")


def series(seed: int, length: int = 200, sigma: float = 2.0) -> Floats:
    return 100.0 + np.random.default_rng(seed).normal(0.0, sigma, length)


def places(values: Floats) -> list[int]:
    return [change.index for change in detect(values).changes]


def test_one_or_two_spikes_are_no_change() -> None:
    found = 0
    for seed in range(20):
        values = series(seed)
        values[[50, 120, 121, 199]] -= 40.0
        found += len(places(values))
    assert found <= 1


def test_a_ramp_is_not_a_staircase() -> None:
    for seed in range(20):
        values = series(seed, sigma=1.0) + np.linspace(0.0, 4.0, 200)
        assert len(places(values)) <= 1


@pytest.mark.parametrize(
    ("length", "levels"),
    [
        *((length, (100.0, 88.0, 77.0)) for length in (23, 30, 60, 200)),
        *((length, (100.0, 95.0, 90.0, 85.0)) for length in (40, 60, 200)),
    ],
)
def test_stairs_are_no_ramp(length: int, levels: tuple[float, ...]) -> None:
    """Until all steps are known they look like one, and each is noise to the others."""
    for seed in range(10):
        parts = np.array_split(series(seed, length, sigma=0.4) - 100.0, len(levels))
        values = np.concatenate([part + level for part, level in zip(parts, levels, strict=True)])
        steps = np.cumsum([len(part) for part in parts])[:-1]
        assert places(values) == pytest.approx(list(steps), abs=1)


def test_a_long_ramp_in_noise_is_no_stairs() -> None:
    found = 0
    for seed in range(40):
        values = series(seed, 500) + np.linspace(0.0, 5.0, 500)
        found += len(places(values))
    assert found <= 1


def test_steps_that_come_and_go() -> None:
    values = series(4, 400)
    values[100:130] += 8.0
    values[250:] -= 6.0
    assert places(values) == pytest.approx([100, 130, 250], abs=2)


def test_a_step_does_not_hide_a_smaller_one() -> None:
    values = series(5, 300)
    values[100:] += 1000.0
    values[200:] += 4.0
    assert places(values) == pytest.approx([100, 200], abs=4)


def test_two_values_prove_nothing_and_four_do() -> None:
    values = [100.0, 101.0] * 30
    assert detect([*values, 150.0, 151.0]).changes == ()
    (change,) = detect([*values, 150.0, 151.0, 150.0, 151.0]).changes
    assert change.index == 60


def test_a_constant_series_needs_more_than_a_flicker_of_one_quantum() -> None:
    assert detect([5.0] * 40 + [6.0] * 3).changes == ()
    assert len(detect([5.0] * 40 + [6.0] * 8).changes) == 1


def test_replicates_find_a_step_in_fewer_nights() -> None:
    hits = 0
    for seed in range(20):
        ladder = SeriesShape(103, 5)
        random = np.random.default_rng(seed)
        values = draw(NOISES["gauss"], ladder, random, sigma=2.0, step=0.04, at=100)
        found = detect(values, positions=ladder.labels()).changes
        hits += any(abs(int(change.position) - 100) <= 1 for change in found)
    assert hits >= 17


def test_limits_fall_with_the_budget_and_p_is_that_of_the_maximum() -> None:
    limits = [calibration.limit(200, budget) for budget in (0.01, 0.1, 0.5, 5.0, 99.0)]
    assert limits == sorted(limits, reverse=True)
    for length in (1, 12, 200, 10**6):
        limit = calibration.limit(length, 0.5)
        assert limit > 8.0
        assert 0.0 < calibration.pvalue(length, limit) < 0.1
        assert calibration.pvalue(length, 1e9) > 0.0
    assert calibration.pvalue(100, 0.5) == 1.0


def test_pvalues_are_uniform_enough_in_the_tail() -> None:
    # Of first looks at unchanged values, at a wide budget and a small p.
    random = np.random.default_rng(17)
    smallest = [
        min(
            (c.pvalue for c in detect(random.normal(100, 2, 160), alarms_per_1000=5).changes),
            default=1.0,
        )
        for _ in range(2000)
    ]
    for level in (0.01, 0.02):
        assert 0.5 * level <= float(np.mean(np.array(smallest) <= level)) <= 2.0 * level


def test_noise_model() -> None:
    random = np.random.default_rng(9)
    plain = detect(draw(NOISES["gauss"], SeriesShape(2000, 1), random, sigma=2.0))
    assert plain.noise.autocorrelation == pytest.approx(0.0, abs=0.07)
    assert plain.noise.tails == pytest.approx(0.003, abs=0.004)
    linked = detect(draw(NOISES["AR(.5)"], SeriesShape(2000, 1), random, sigma=2.0))
    assert linked.noise.autocorrelation == pytest.approx(0.5, abs=0.1)
    heavy = detect(draw(NOISES["t3"], SeriesShape(2000, 1), random, sigma=2.0))
    assert heavy.noise.tails > 0.02
    assert detect([]).detectable_effect == math.inf
    assert Detection.from_json(detect([]).to_json()) == detect([])


def test_clipping_moves_spikes_and_leaves_steps() -> None:
    values = np.zeros(40)
    values[20:] = 30.0
    values[[5, 30]] += [4.3, 100.0]
    out = np.empty(40)
    set_clipped(values, 1.0, 0, out)
    assert out[5] == pytest.approx(3.7)
    assert out[30] == pytest.approx(31.0)
    untouched = np.delete(np.arange(40), [5, 30])
    assert np.array_equal(out[untouched], values[untouched])


def test_a_hundred_thousand_values() -> None:
    values = series(6, 100_000)
    values[30_000:] += 1.0
    values[80_000:80_200] += 4.0
    assert places(values) == pytest.approx([30_000, 80_000, 80_200], abs=20)
