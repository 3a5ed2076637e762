"""Creep over thousands of simulated lines: false ones, how early true ones are found, intervals."""

from __future__ import annotations

import pytest

from changepoint.evaluate.creeps import creeping, false
from changepoint.evaluate.simulate import NOISES, SeriesShape


@pytest.mark.parametrize("name", ["gauss", "t3", "bimodal", "spikes"])
@pytest.mark.parametrize("replicates", [1, 3])
def test_one_in_a_thousand_stable_lines_creeps(name: str, replicates: int) -> None:
    found, large = false(NOISES[name], SeriesShape(60, replicates), 1000, 5201)
    # One is expected of a thousand; more than four have a probability of .004.
    assert found.hits <= 4
    assert large.hits <= 4


@pytest.mark.parametrize("replicates", [1, 3])
def test_a_stable_line_with_memory_seldom_creeps_by_five_percent(replicates: int) -> None:
    _, large = false(NOISES["AR(.5)"], SeriesShape(60, replicates), 1000, 5202)
    assert large.hits <= 4


@pytest.mark.parametrize("spread", [0.0, 0.005])
def test_ten_losses_of_half_a_percent(spread: float) -> None:
    got = creeping(NOISES["gauss"], spread, 0.0, 600, 5203)
    if not spread:
        three, more, *_, last = (rate.value for rate in got.found)
        assert three >= 0.4
        assert more >= 0.75
        assert last >= 0.98
    assert got.whole.value >= 0.95
    assert got.each.value >= 0.95
    assert got.sums.value == 1.0
