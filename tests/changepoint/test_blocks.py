"""Blocks say of a stretch what going over all its values says."""

from __future__ import annotations

import numpy as np
import pytest

from changepoint.detection.blocks import BLOCK, best_split, new_blocks, set_blocks, squares
from changepoint.detection.inner_intervals import SHORTEST, grid_by_stop
from changepoint.detection.scan import best_gain, set_sums, sums_of
from changepoint.series import Floats


def walk(random: np.random.Generator, length: int) -> Floats:
    """Noise with steps of every size, short and long ones."""
    values = random.normal(size=length)
    for at in random.integers(0, length, 6):
        values[at:] += random.choice([-30.0, -1.0, 0.3, 5.0])
    values[: int(random.integers(0, length))] *= random.choice([0.0, 1.0])
    return values


@pytest.mark.parametrize("seed", range(8))
def test_stretches_of_blocks(seed: int) -> None:
    random = np.random.default_rng(seed)
    y = walk(random, 1500)
    sums = sums_of(y)
    blocks = new_blocks(len(y) + BLOCK)
    set_blocks(y, sums, 0, blocks)
    for _ in range(200):
        start, stop = sorted(random.choice(len(y) + 1, 2, replace=False).tolist())
        least = int(random.integers(2, 7))
        gain, at = best_split(sums[0], start, stop, least, blocks)
        expected, place = best_gain(sums[0], start, stop, least)
        # Where nothing happens, what is left is rounding, and any place as good.
        assert (gain, at) == (expected, place) or max(gain, expected) < 1e-18
        part = y[start:stop]
        one, two = np.diff(part), part[2:] - part[:-2]
        assert squares(y, sums, start, stop, blocks) == pytest.approx(
            (np.sum((part - np.mean(part)) ** 2), np.sum(one**2), np.sum(two**2)),
            rel=1e-12,
            abs=1e-12,
        )


def test_blocks_that_are_brought_up_to_date_are_those_of_the_whole() -> None:
    random = np.random.default_rng(3)
    y = walk(random, 400)
    sums = sums_of(y)
    blocks, whole = new_blocks(400), new_blocks(400)
    set_blocks(y, sums, 0, whole)
    for former, n in ((0, 10), (10, 63), (63, 64), (64, 65), (65, 200), (200, 400)):
        first = max(former - 5, 0)
        y[first:n] += 1.0
        set_sums(y, first, sums)
        set_blocks(y[:n], sums, first, blocks)
        y[first:n] -= 1.0
        set_sums(y, first, sums)
        set_blocks(y[:n], sums, first, blocks)
    assert np.array_equal(blocks, whole)


def test_squares_of_equal_values_are_none() -> None:
    y = np.full(300, 0.1)
    blocks = new_blocks(300)
    set_blocks(y, sums_of(y), 0, blocks)
    rest, one, two = squares(y, sums_of(y), 0, 300, blocks)
    assert rest < 1e-26
    assert (one, two) == (0.0, 0.0)


def test_a_longer_series_adds_to_the_grid_at_its_end() -> None:
    starts, stops = grid_by_stop(300)
    assert np.all(np.diff(stops) >= 0)
    assert stops[0] == SHORTEST
    for n in range(301):
        mine = grid_by_stop(n)
        count = int(np.searchsorted(stops, n, side="right"))
        assert np.array_equal(mine[0], starts[:count])
        assert np.array_equal(mine[1], stops[:count])
