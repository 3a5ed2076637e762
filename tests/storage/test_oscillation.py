"""Periodic swings of the throughput: their size, their period, and none where there are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pipeline.model import TimePoint
from pipeline.storage.derive.oscillation import CYCLES, FEWEST, oscillation

Floats = NDArray[np.float64]


def timeline(rates: Floats, spacing: float = 1.0) -> list[TimePoint]:
    return [
        TimePoint(at=(place + 1) * spacing, ops_per_second=float(rate))
        for place, rate in enumerate(rates)
    ]


def noise(count: int, alike: float = 0.0, seed: int = 1) -> Floats:
    """Noise of standard deviation 1, autocorrelated."""
    fresh = np.random.default_rng(seed).normal(size=count)
    values = fresh.copy()
    for place in range(1, count):
        values[place] = alike * values[place - 1] + np.sqrt(1 - alike**2) * fresh[place]
    return values


def cycle(count: int, period: float) -> Floats:
    """The part of the cycle that is over at each second, 0 to 1."""
    return np.asarray((np.arange(count) / period + 0.3) % 1)


RECORDED = np.loadtxt(Path(__file__).parent / "data" / "update-index-checkpoints.csv")
"""Updates a second of Postgres 17.11, with a checkpoint every 30 seconds, on a machine that others
used too: a coefficient of variation of .38, and neighbouring seconds are alike."""

SHAPES = {
    "wave": lambda part: 100 * np.sin(2 * np.pi * part),
    "sawtooth": lambda part: 200 * part,
    "dips": lambda part: -200.0 * (part < 0.2),
}


@pytest.mark.parametrize("alike", [0.0, 0.5])
@pytest.mark.parametrize("period", [5.0, 15.0, 30.5])
@pytest.mark.parametrize("shape", SHAPES)
def test_swings_have_their_period_and_their_size(shape: str, period: float, alike: float) -> None:
    rates = 1000 + SHAPES[shape](cycle(400, period)) + 20 * noise(400, alike)
    found = oscillation(timeline(rates))
    assert found["period_s"] == pytest.approx(period, rel=0.03)
    assert found["oscillation"] == pytest.approx(0.1, abs=0.04)


def test_the_period_is_in_seconds() -> None:
    rates = 1000 + 100 * np.sin(2 * np.pi * cycle(200, 10)) + 20 * noise(200)
    assert oscillation(timeline(rates, 2.0))["period_s"] == pytest.approx(20.0, rel=0.03)


@pytest.mark.parametrize("alike", [0.0, 0.5, 0.8])
def test_noise_does_not_swing(alike: float) -> None:
    # At most 1 in 1000; of 200, three would be a chance of 1 in 1000.
    swinging = [
        seed
        for seed in range(200)
        if "period_s" in oscillation(timeline(1000 + 100 * noise(120, alike, seed)))
    ]
    assert len(swinging) < 3


def test_without_a_swing_it_is_zero_and_has_no_period() -> None:
    assert oscillation(timeline(1000 + 100 * noise(300))) == {"oscillation": 0.0}
    assert oscillation(timeline(np.full(300, 1000.0))) == {"oscillation": 0.0}


def test_a_line_and_a_step_do_not_swing() -> None:
    line = np.linspace(500, 1500, 300)
    assert oscillation(timeline(line)) == {"oscillation": 0.0}
    step = np.where(np.arange(300) < 100, 500.0, 1000.0) + 20 * noise(300)
    assert oscillation(timeline(step)) == {"oscillation": 0.0}


def test_a_swing_too_small_for_a_word_is_none() -> None:
    rates = 1000 + 10 * np.sin(2 * np.pi * cycle(7200, 60)) + 10 * noise(7200)
    assert oscillation(timeline(rates)) == {"oscillation": 0.0}


def test_what_came_fewer_times_is_no_swing() -> None:
    rates = 1000 + 100 * np.sin(2 * np.pi * cycle(150, 150 / (CYCLES - 1))) + noise(150)
    assert oscillation(timeline(rates)).get("period_s", 0.0) <= 150 / CYCLES


def test_a_short_step_and_one_without_operations_have_no_verdict() -> None:
    assert oscillation(timeline(np.full(FEWEST - 1, 1000.0))) == {}
    assert oscillation(timeline(np.zeros(FEWEST))) == {}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=FEWEST, max_size=200))
def test_any_throughput_has_figures_in_bounds(rates: list[float]) -> None:
    found = oscillation(timeline(np.array(rates)))
    assert all(np.isfinite(value) and value >= 0 for value in found.values())
    if "period_s" in found:
        assert 3 <= found["period_s"] <= len(rates) / CYCLES


def test_a_restless_machine_does_not_swing() -> None:
    assert oscillation(timeline(RECORDED)) == {"oscillation": 0.0}


def test_dips_are_found_in_the_noise_of_a_real_step() -> None:
    dips = 1 - 0.9 * (np.arange(len(RECORDED)) % 30 < 5)
    found = oscillation(timeline(RECORDED * dips))
    assert found["period_s"] == pytest.approx(30, rel=0.03)
    assert found["oscillation"] > 0.3
