"""The newest positions of a replicated line: a large step is found on its first night."""

from __future__ import annotations

import numpy as np
import pytest

from changepoint import detect
from changepoint.detection import newest
from changepoint.detection.between_positions import Replicates
from changepoint.evaluate.newest import found
from changepoint.evaluate.simulate import NOISES, SeriesShape, draw
from changepoint.noise import clip_replicates
from changepoint.series import Floats, GroupedSeries, read

SHAPE = SeriesShape(60, 3)
PROBABILITY = newest.SHARE * 0.5 / 1000.0


def line(seed: int, noise: str = "gauss", shape: SeriesShape = SHAPE) -> Floats:
    """An unchanged line; a row is a position."""
    values = draw(NOISES[noise], shape, np.random.default_rng(seed), sigma=2.0)
    return values.reshape(shape.positions, shape.replicates)


def replicates_of(series: GroupedSeries) -> Replicates:
    """The replicates of a series, as the search has them."""
    return Replicates.of(clip_replicates(series.scaled, series.offsets), series.offsets)


def suspected(values: Floats) -> int | None:
    """The position at which the test of the newest positions sees a change."""
    positions, replicates = values.shape
    series = read(values.ravel(), np.repeat(np.arange(positions), replicates))
    change = newest.find(series, replicates_of(series), [], PROBABILITY)
    return None if change is None else change.at


def places(values: Floats) -> list[int]:
    """The positions at which a whole search finds changes of level."""
    positions, replicates = values.shape
    labels = np.repeat(np.arange(positions), replicates)
    changes = detect(values.ravel(), positions=labels).changes
    return [int(change.position) for change in changes if change.kind == "level"]


@pytest.mark.parametrize("positions", [10, 21, 40, 100, 500])
@pytest.mark.parametrize("noise", ["gauss", "t3", "quantised"])
def test_a_large_step_is_found_on_its_first_night(noise: str, positions: int) -> None:
    assert found(NOISES[noise], positions, -0.2, 20, 5).hits == 20
    assert found(NOISES[noise], positions, -0.1, 20, 6).hits >= 17


@pytest.mark.parametrize("effect", [0.8, 0.5, 0.1, 1.3])
def test_a_step_that_was_found_stays_found(effect: float) -> None:
    values = line(3)
    values[40:] *= effect
    for night in range(41, 56):
        assert 40 in places(values[:night])


@pytest.mark.parametrize("kind", ["spikes", "bimodal", "AR(.5)", "t3"])
def test_noise_of_replicates_is_no_step(kind: str) -> None:
    nights = [suspected(line(seed, kind)[:night]) for seed in range(30) for night in range(21, 61)]
    assert sum(night is not None for night in nights) <= 2


def test_replicates_must_agree() -> None:
    values = line(4)
    values[-1] = [50.0, 50.0, 99.0]
    assert suspected(values) is None
    values[-1] = [50.0, 51.0, 52.0]
    assert suspected(values) == 59


def test_a_night_as_bad_as_an_earlier_one_is_no_step() -> None:
    values = line(5)
    values[-1] *= 0.9
    assert suspected(values) == 59
    # An earlier night lost as much and recovered, also if it was one of the newest.
    for earlier in (20, 56):
        disturbed = values.copy()
        disturbed[earlier] = 92.0
        assert suspected(disturbed) is None
        # Twice as much as ever before is news.
        disturbed[-1] = 75.0
        assert suspected(disturbed) == 59


def test_the_level_before_is_that_of_the_last_segment() -> None:
    values = line(6)
    values[30:] *= 0.7
    series = read(values.ravel(), SHAPE.labels())
    means = replicates_of(series)
    assert newest.find(series, means, [30], PROBABILITY) is None
    values[-2:] *= 0.8
    series = read(values.ravel(), SHAPE.labels())
    change = newest.find(series, replicates_of(series), [30], PROBABILITY)
    assert change is not None
    assert change.at == 58


def test_a_constant_line_has_no_step_but_a_changed_night_is_one() -> None:
    values = np.full((30, 3), 7.0)
    assert suspected(values) is None
    values[-1] = 8.0
    assert suspected(values) == 29


def test_two_positions_after_a_change_are_no_level() -> None:
    values = line(7)
    values[-3:] *= 0.5
    values[-1] *= 0.5
    series = read(values.ravel(), SHAPE.labels())
    # Only two positions have the level of the last segment.
    assert newest.find(series, replicates_of(series), [57], PROBABILITY) is None


@pytest.mark.parametrize("at", [2, 3, 4])
def test_a_short_ladder_that_halves_is_found(at: int) -> None:
    shape = SeriesShape(5, 2)
    for seed in range(40):
        random = np.random.default_rng(seed)
        values = draw(NOISES["gauss"], shape, random, sigma=0.5, step=-0.5, at=at)
        assert places(values.reshape(5, 2)) == [at]
