"""The promised detectable size at each place of a short series."""

from __future__ import annotations

import numpy as np
import pytest

from changepoint.api import detect
from changepoint.evaluate.places import by_place, halving_table, promised
from changepoint.evaluate.simulate import NOISES, SeriesShape, draw

SHAPE = SeriesShape(10, 3)


def test_the_promise_in_the_middle_is_the_detectable_effect_and_ends_need_more() -> None:
    values = draw(NOISES["gauss"], SHAPE, np.random.default_rng(4), sigma=0.02)
    sizes = promised(values, SHAPE)
    whole = detect(values, positions=SHAPE.labels()).detectable_effect
    assert sizes[5] == pytest.approx(whole)
    assert set(sizes) == set(range(1, 10))
    assert sizes[1] > sizes[5] < sizes[9]


@pytest.mark.parametrize(("shape", "first"), [(SeriesShape(12, 2), 2), (SeriesShape(26, 1), 5)])
def test_nothing_is_promised_where_a_side_is_too_short(shape: SeriesShape, first: int) -> None:
    sizes = promised(draw(NOISES["gauss"], shape, np.random.default_rng(4), sigma=0.02), shape)
    assert (min(sizes), max(sizes)) == (first, shape.positions - first)


def test_steps_of_the_promised_size_are_found_more_often_than_not() -> None:
    rates = by_place(NOISES["gauss"], SHAPE, trials=8, seed=4)
    assert all(rate.trials == 8 for rate in rates.values())
    assert sum(rate.hits for rate in rates.values()) > 0.5 * 8 * len(rates)


def test_a_halving_of_five_positions_is_found_with_every_seed() -> None:
    rows = list(halving_table(8, 4, ["gauss", "quantised"]))
    assert rows[0] == "| noise | before 2 | before 3 | before 4 |"
    assert [row.count("1.0000 (") for row in rows[2:]] == [3, 3]
