"""Whether a step was steady: simulated truths, what must not matter, and a real step."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pipeline.model import StepOutput, TimePoint
from pipeline.storage.derive.steady import FEWEST, MOST, SIGNIFICANCE, parts, steadiness, trend
from pipeline.storage.ingest import marks, measurements

Floats = NDArray[np.float64]


def output(rates: Floats | list[float], spacing: float = 1.0) -> StepOutput:
    """An output with this throughput over time."""
    timeline = tuple(
        TimePoint(at=(place + 1) * spacing, ops_per_second=float(rate))
        for place, rate in enumerate(rates)
    )
    return StepOutput(operations=100, seconds=len(timeline) * spacing, timeline=timeline)


def noisy(level: Callable[[Floats], Any], count: int = 60, seed: int = 1) -> Floats:
    """Throughput with noise of 2 % around a level that depends on the part of the step, 0 to 1."""
    random = np.random.default_rng(seed)
    time = (np.arange(count) + 0.5) / count
    return np.asarray(1000.0 * level(time) * (1 + 0.02 * random.normal(size=count)))


def flat(time: Floats) -> Floats:
    return np.ones(len(time))


def test_a_steady_step_is_steady_from_the_start_and_has_no_mark() -> None:
    step = output(noisy(flat))
    values = measurements(step, [])
    assert values["warming_s"] == 0.0
    assert 0.0 <= values["drift"] < 0.05
    assert marks(step) == ()


@pytest.mark.parametrize("count", [0, 1, FEWEST - 1])
def test_a_short_step_has_no_verdict(count: int) -> None:
    step = output([1.0] * (count // 2) + [1000.0] * (count - count // 2))
    assert not {"warming_s", "drift"} & measurements(step, []).keys()
    assert marks(step) == ()


def test_a_step_of_no_operations_has_no_verdict() -> None:
    assert steadiness(output([0.0] * 60).timeline) is None


def test_a_warm_up_is_marked_with_its_end() -> None:
    step = output(noisy(lambda time: 1 - 0.2 * (time < 15 / 60)))
    assert measurements(step, [])["warming_s"] == 15.0
    assert marks(step) == (
        "warming: throughput was 20 % below the later level until second 15 of 60"
        " (change point test)",
    )


def test_the_metric_counts_seconds_and_not_reports() -> None:
    step = output(noisy(lambda time: 1 - 0.2 * (time < 15 / 60)), spacing=2.0)
    assert measurements(step, [])["warming_s"] == 30.0


def test_a_step_that_becomes_slower_is_not_called_warming() -> None:
    (mark,) = marks(output(noisy(lambda time: 1 + 0.25 * (time < 1 / 3))))
    assert mark.startswith("slowing: throughput was 25 % above the later level until second 20 of")


def test_a_change_late_in_the_step_leaves_no_steady_state() -> None:
    (mark,) = marks(output(noisy(lambda time: 1 - 0.2 * (time > 0.85))))
    assert mark.startswith("not steady: throughput was 25 % above the later level until second 51")


def test_a_server_that_stops_is_not_steady() -> None:
    (mark,) = marks(output(noisy(lambda time: 1.0 * (time < 0.5))))
    assert mark == "not steady: throughput fell to zero at second 30 of 60 (change point test)"


def test_a_start_from_nothing_is_a_warm_up() -> None:
    (mark,) = marks(output(noisy(lambda time: 1.0 * (time > 0.2))))
    assert mark.startswith("warming: throughput was 100 % below the later level until second 12 of")


def test_a_level_that_comes_back_is_no_warm_up() -> None:
    assert marks(output(noisy(lambda time: 1 - 0.3 * ((time > 0.4) & (time < 0.55))))) == ()


def test_a_swing_is_no_warm_up() -> None:
    swings = noisy(lambda time: 1 - 0.4 * ((5 * time + 0.1) % 1 < 0.2), count=300)
    assert measurements(output(swings), [])["warming_s"] == 0.0


def test_a_drift_is_marked_and_has_its_size() -> None:
    step = output(noisy(lambda time: 1.05 - 0.1 * time))
    values = measurements(step, [])
    assert values["warming_s"] == 0.0
    assert values["drift"] == pytest.approx(0.1, abs=0.02)
    (mark,) = marks(step)
    assert re.fullmatch(r"drifting: -1[01] % through the step \(trend test, p < 0\.0001\)", mark)


def test_a_drift_too_small_for_a_word_has_none() -> None:
    step = output(noisy(lambda time: 1 + 0.03 * time, count=900))
    assert measurements(step, [])["drift"] == pytest.approx(0.03, abs=0.005)
    assert marks(step) == ()


def test_the_drift_is_of_what_came_after_the_warm_up() -> None:
    step = output(noisy(lambda time: np.where(time < 0.2, 0.5, 1.1 - 0.2 * time), count=300))
    first, second = marks(step)
    assert first.startswith("warming: ")
    assert second.startswith("drifting: -")
    assert "through the rest of the step" in second


def test_what_wanders_is_less_of_a_trend_than_what_is_independent() -> None:
    random = np.random.default_rng(3)
    fresh = random.normal(size=100)
    wandering = np.zeros(100)
    for place in range(1, 100):
        wandering[place] = 0.9 * wandering[place - 1] + fresh[place]
    line = np.linspace(0, 3 * wandering.std(), 100)
    scaled = fresh * wandering.std() / fresh.std()
    assert trend(1000 + line + scaled)[1] < SIGNIFICANCE < trend(1000 + line + wandering)[1]


def test_long_steps_are_judged_by_parts_that_lose_nothing() -> None:
    rates = noisy(flat, count=7203)
    ends, means = parts(output(rates, spacing=0.5).timeline)
    assert MOST / 2 <= len(means) <= MOST
    assert ends[-1] == 7203 * 0.5
    lengths = np.diff(ends, prepend=0.0)
    assert float(lengths @ means) == pytest.approx(float(rates.sum()) * 0.5)


RATES = st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=FEWEST, max_size=150)


@settings(max_examples=50, deadline=None)
@given(RATES)
def test_any_throughput_has_a_verdict_in_bounds(rates: list[float]) -> None:
    found = steadiness(output(rates).timeline)
    if found is None:
        assert not any(rates)
        return
    assert 0.0 <= found.warming < found.seconds
    assert found.drift is None or math.isfinite(found.drift)
    assert found.pvalue is None or 0.0 <= found.pvalue <= 1.0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.5, 2.0, 1024.0]))
def test_the_unit_of_the_throughput_does_not_matter(seed: int, scale: float) -> None:
    rates = noisy(lambda time: 1 - 0.15 * (time < 0.3) + 0.1 * time, seed=seed)
    assert marks(output(rates)) == marks(output(rates * scale))


def test_of_steady_steps_few_are_marked() -> None:
    # At most 1 in 1000 is; of 400, four or more would be a chance of 1 in 1000.
    marked = sum(bool(marks(output(noisy(flat, seed=seed)))) for seed in range(400))
    assert marked < 4


def test_in_dips_that_the_end_of_a_step_cuts_off_there_is_no_new_level() -> None:
    for phase in np.linspace(0, 1, 20):
        places = 6 * (np.arange(900) + 0.5) / 900 + phase
        assert marks(output(noisy(flat, count=900) * (1 - 0.3 * (places % 1 < 0.2)))) == ()
