"""What a machine's other series show of its noise, and a change that stays found."""

from __future__ import annotations

import numpy as np
import pytest

from changepoint import detect, learned_autocorrelation
from changepoint.evaluate import nightly
from changepoint.evaluate.appending import lost
from changepoint.evaluate.learned import learned_places
from changepoint.evaluate.simulate import NOISES, SeriesShape, draw
from changepoint.series import Floats


def machine(kind: str, seed: int, step: float = 0.0) -> list[Floats]:
    """Twenty series of sixty positions, with a step in the middle."""
    random = np.random.default_rng(seed)
    shape = SeriesShape(60, 1)
    return [draw(NOISES[kind], shape, random, sigma=2.0, step=step, at=30) for _ in range(20)]


@pytest.mark.parametrize("step", [0.0, -0.2])
def test_the_memory_of_a_machine_shows_in_all_its_series(step: float) -> None:
    known = learned_autocorrelation(machine("AR(.5)", 1, step))
    assert known == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("kind", ["gauss", "t3", "spikes", "bimodal", "quantised"])
def test_independent_noise_has_hardly_any_memory(kind: str) -> None:
    known = learned_autocorrelation(machine(kind, 2))
    assert known is not None
    assert known <= 0.15


def test_few_positions_show_no_memory() -> None:
    assert learned_autocorrelation([]) is None
    assert learned_autocorrelation(machine("gauss", 3)[:3]) is None
    assert learned_autocorrelation([one[:19] for one in machine("gauss", 4)]) is None
    assert learned_autocorrelation([np.ones(300)]) is None


def test_a_learned_memory_keeps_the_budget() -> None:
    places = learned_places(NOISES["AR(.5)"], 5)
    got = nightly.alarms(places, NOISES["AR(.5)"], 100, 25, 6)
    # 2,025 nights: 7 alarms are expected without it.
    assert got.rate * got.nights / 1000.0 <= 3


def test_a_memory_out_of_range_is_refused() -> None:
    for wrong in (-0.1, 1.0):
        with pytest.raises(ValueError, match="autocorrelation must be"):
            detect([1.0, 2.0], autocorrelation=wrong)


@pytest.mark.parametrize("positions", [19, 20, 30])
def test_a_clear_change_stays_found(positions: int) -> None:
    got = lost(NOISES["gauss"], positions, 30, 7)
    assert got.trials >= 15
    assert got.hits <= 3
