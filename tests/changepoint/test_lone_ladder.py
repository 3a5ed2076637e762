"""Ladders of single values without a table: the noise is what remains between the changes."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from changepoint import Stream, detect
from changepoint.detection import lone_ladder
from changepoint.detection.default import LADDER
from changepoint.detection.energy import MIN_VALUES
from changepoint.evaluate.powers import power
from changepoint.evaluate.simulate import NOISES, SeriesShape, draw
from changepoint.series import Floats


def ladder(noise: str, positions: int, seed: int) -> Floats:
    random = np.random.default_rng(seed)
    return draw(NOISES[noise], SeriesShape(positions, 1), random, sigma=1.0)


def places(values: Floats) -> list[int]:
    return [change.index for change in detect(values).changes if change.kind == "level"]


def test_a_release_that_halves_the_throughput_is_found() -> None:
    values = ladder("gauss", 12, 1)
    values[7:] *= 0.5
    assert places(values) == [7]
    assert not places(values[:7])


def test_losses_of_several_releases_are_found() -> None:
    values = ladder("gauss", 14, 2) * 0.85 ** (np.arange(14)[:, None] >= (4, 8, 11)).sum(axis=1)
    assert places(values) == [4, 8, 11]


def test_levels_may_be_negative() -> None:
    values = ladder("gauss", 12, 1) - 100.0
    values[7:] -= 30.0
    assert places(values) == [7]


def test_equal_values_are_no_change_and_an_exact_step_is_one() -> None:
    assert not places(np.full(12, 5.0))
    assert places(np.repeat([5.0, 6.0], 6)) == [6]


def test_a_single_value_is_no_level() -> None:
    values = ladder("gauss", 12, 3)
    values[6] *= 0.5
    assert not places(values)


@pytest.mark.parametrize("noise", ["gauss", "t3", "bimodal", "spikes", "quantised"])
def test_noise_of_any_shape_is_no_change(noise: str) -> None:
    wrong = sum(
        bool(places(ladder(noise, positions, seed)))
        for positions in (10, 14, 20)
        for seed in range(60)
    )
    assert wrong <= 2


def test_values_in_random_order_are_no_change() -> None:
    random = np.random.default_rng(4)
    values = ladder("gauss", 14, 2) * 0.85 ** (np.arange(14)[:, None] >= (4, 8, 11)).sum(axis=1)
    assert sum(bool(places(random.permutation(values))) for _ in range(200)) <= 2


@pytest.mark.parametrize("noise", ["gauss", "t3"])
@pytest.mark.parametrize("positions", [10, 20])
def test_a_step_of_the_detectable_size_is_found(noise: str, positions: int) -> None:
    found = power(NOISES[noise], SeriesShape(positions, 1), 60, 88_003).found
    assert 0.7 <= found.value <= 0.97


def test_the_segmentations_are_the_best_of_all() -> None:
    random = np.random.default_rng(5)
    for _ in range(10):
        values = random.normal(size=11).cumsum()
        edges, errors = lone_ladder._segmentations(values, 3)
        for changes in range(4):
            inner = [
                (0, *chosen, 11)
                for chosen in combinations(range(MIN_VALUES, 11 - MIN_VALUES + 1), changes)
                if all(b - a >= MIN_VALUES for a, b in pairwise((0, *chosen, 11)))
            ]

            def cost(found: tuple[int, ...], values: Floats = values) -> float:
                parts = [values[a:b] for a, b in pairwise(found)]
                return sum(float(np.sum((part - part.mean()) ** 2)) for part in parts)

            best = min(inner, key=cost)
            assert tuple(edges[changes, : changes + 2].tolist()) == best
            assert errors[changes] == pytest.approx(cost(best))


def test_a_stream_that_outgrows_a_ladder_equals_a_full_search() -> None:
    values = ladder("gauss", LADDER + 5, 6)
    values[9:] *= 0.8
    stream = Stream()
    for i, value in enumerate(values.tolist()):
        stream.append(value)
        assert stream.detection() == detect(values[: i + 1])
        assert list(stream.indices) == places(values[: i + 1])
