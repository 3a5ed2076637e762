"""Noise, the position test and the intervals, each alone."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from changepoint import Detection, detect
from changepoint.detection.between_positions import Replicates, best_split
from changepoint.detection.effect import relative
from changepoint.evaluate import nightly
from changepoint.evaluate.measure import Rate, alarms, recall
from changepoint.evaluate.simulate import NOISES, SeriesShape, draw
from changepoint.noise import CLIP, clip_replicates, quantum, replicate_scale


def test_replicate_scale_is_a_standard_deviation() -> None:
    values = np.random.default_rng(1).normal(0.0, 3.0, 3000)
    assert replicate_scale(values, np.arange(0, 3001, 3)) == pytest.approx(3.0, rel=0.05)
    assert replicate_scale(values, np.arange(3001)) == 0.0
    assert replicate_scale(np.zeros(0), np.zeros(1, dtype=np.int64)) == 0.0


def test_a_spike_is_clipped_and_a_disagreement_is_not() -> None:
    values = np.array([1.0, 1.1, 0.9, 1.0, 1.1, -30.0, 0.9, 1.0, 1.1, 1.2, 1.0, 0.9])
    offsets = np.arange(0, 13, 3)
    clipped = clip_replicates(values, offsets)
    assert clipped[5] > 0.0
    assert np.array_equal(np.delete(clipped, 5), np.delete(values, 5))
    values[4] = -20.0
    assert np.array_equal(clip_replicates(values, offsets)[3:6], values[3:6])


@pytest.mark.parametrize("digits", [1, 16])
def test_clipping_is_that_of_its_definition(digits: int) -> None:
    random = np.random.default_rng(digits)
    moved = 0
    for _ in range(100):
        offsets = np.cumsum([0, *random.integers(1, 7, size=40)])
        values = np.round(random.standard_t(2.0, size=int(offsets[-1])), digits)
        reach = CLIP * replicate_scale(values, offsets)
        expected = values.copy()
        for start, stop in pairwise(offsets.tolist()):
            part = values[start:stop]
            middle = np.median(part)
            if 2 * np.count_nonzero(np.abs(part - middle) > reach) < len(part):
                expected[start:stop] = np.clip(part, middle - reach, middle + reach)
        assert np.array_equal(clip_replicates(values, offsets), expected)
        moved += int(np.count_nonzero(expected != values))
    assert moved > 100


def test_quantum_needs_repeats_inside_a_group() -> None:
    offsets = np.array([0, 4, 8])
    assert quantum(np.array([1, 1, 1.5, 2.5, 9, 9, 9, 9.5]), offsets, 1e-12) == 0.5
    assert quantum(np.array([1, 1.1, 1.5, 2.5, 9, 9.3, 9.7, 9.8]), offsets, 1e-12) == 0.0
    assert quantum(np.array([1.0] * 4 + [2.0] * 4), offsets, 1e-12) == 0.0


def test_position_test_matches_a_t_test_where_positions_are_many() -> None:
    from scipy import stats

    random = np.random.default_rng(2)
    values = random.normal(size=(200, 3)) + random.normal(size=(200, 1))
    values[100:] += 0.9
    split = best_split(Replicates.of(values.ravel(), np.arange(0, 601, 3)), 0.0)
    t = stats.ttest_ind(values[: split.tau].mean(axis=1), values[split.tau : split.kappa].mean(1))
    assert abs(split.tau - 100) < 15
    # Bonferroni, and a prior that still has a say, lie between the two.
    assert 0 < math.log10(split.pvalue) - math.log10(t.pvalue) < 5


def test_relative_effects() -> None:
    assert relative(4.0, 5.0) == 0.25
    assert relative(-4.0, -5.0) == -0.25
    assert relative(0.0, -1.0) == -math.inf
    assert relative(0.0, 0.0) == 0.0


def test_quantum_floors_the_interval() -> None:
    values = [100.0] * 11 + [101.0] + [110.0] * 12
    (change,) = detect(values).changes
    low, high = change.effect_interval
    assert high - low > 0.01


def test_json_is_standard_and_refuses_nonsense() -> None:
    detection = detect([0.0] * 12 + [1.0] * 12)
    tree = json.loads(detection.to_json(), parse_constant=pytest.fail)
    assert tree["changes"][0]["effect"] == "inf"
    with pytest.raises(ValueError, match="the saved detection is invalid"):
        Detection.from_dict({"changes": []})


def test_noise_summary() -> None:
    random = np.random.default_rng(3)
    values = 100 + random.normal(0, 1, (300, 3)) + random.normal(0, 2, (300, 1))
    noise = detect(values.ravel(), positions=np.repeat(np.arange(300), 3)).noise
    assert noise.scale == pytest.approx(1.0, rel=0.15)
    assert noise.between == pytest.approx(2.0, rel=0.25)
    assert detect([1.0, 2.0, 1.5] * 9).noise.quantum == pytest.approx(0.5)


def test_rate_limits() -> None:
    low, high = Rate(5, 100).limits()
    assert (low, high) == (pytest.approx(0.0164, abs=1e-3), pytest.approx(0.1128, abs=1e-3))
    assert Rate(0, 10).limits()[0] == 0.0
    assert Rate(10, 10).limits()[1] == 1.0


@pytest.mark.parametrize("name", NOISES)
def test_noises_have_the_shape_asked_for(name: Any) -> None:
    random = np.random.default_rng(1)
    values = draw(NOISES[name], SeriesShape(7, 3), random, sigma=0.1, step=1.0, at=4)
    assert values.shape == (21,)
    assert np.median(values[12:]) == pytest.approx(2 * np.median(values[:12]), rel=0.05)


def test_the_harness_counts() -> None:
    shape = SeriesShape(6, 3)
    assert alarms(NOISES["gauss"], shape, 20, 1).hits <= 1
    got = recall(NOISES["gauss"], shape, sigma=0.5, step=0.2, at=3, trials=10, seed=1)
    assert got.found == Rate(10, 10)
    assert got.other.hits == 0
    places = nightly.reported("default", 0.5)
    assert nightly.alarms(places, NOISES["gauss"], 25, 2, 1).nights == 12
