"""Rates over thousands of simulated series: alarms, recall, intervals, fits, and equal answers."""

from __future__ import annotations

import pytest

from benchmarks.noise import Noise, fit
from changepoint.evaluate import nightly
from changepoint.evaluate.coverage import KINDS, coverage
from changepoint.evaluate.simulate import NOISES
from pipeline.experiments.bisect import MOST_RUNS
from tests.changepoint.oracle.client import Otava
from tests.changepoint.test_hunter import assert_equal
from tests.experiments.test_bisect import searched, simulated
from tests.tools.test_noise import drawn


@pytest.mark.parametrize("name", ["gauss", "t3", "bimodal", "spikes", "quantised"])
def test_nightly_alarms_keep_the_budget(name: str) -> None:
    got = nightly.alarms(nightly.reported("default", 0.5), NOISES[name], 200, 100, 31)
    # 9 are expected of 18,100 nights at the budget; 18 would be three deviations above it.
    assert got.rate * got.nights / 1000.0 <= 18


def test_a_wide_budget_is_spent() -> None:
    got = nightly.alarms(nightly.reported("default", 5.0), NOISES["gauss"], 200, 100, 31)
    assert 2.5 <= got.rate <= 7.5


def test_recall_and_delay_near_the_limit() -> None:
    found = nightly.reported("default", 0.5)
    assert nightly.recall(found, NOISES["gauss"], 0.03, 200, 41).hits >= 180
    assert nightly.recall(found, NOISES["spikes"], 0.05, 200, 42).hits >= 194
    median, late = nightly.delays(found, NOISES["gauss"], 0.05, 1, 100, 43)
    assert median <= 4
    assert late <= 7


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"drift"}))
def test_intervals_hold_the_truth(name: str) -> None:
    got = coverage(NOISES[name], 200, 0.1, False, "default", 600, 8801)
    assert got.found.value > 0.97
    # At most .93 of 600 has a probability of .02 if .95 are meant, and of .001 at .96.
    assert got.effect.value > 0.93
    assert got.position.value > 0.93
    late = coverage(NOISES[name], 200, 0.1, True, "default", 300, 8802)
    assert late.effect.value > 0.92
    assert late.position.value > 0.92


def test_five_thousand_series(otava: Otava) -> None:
    assert_equal(otava, 80_000_000, 5040, 2000, 5000)


@pytest.mark.parametrize(
    "noise",
    [
        Noise(0.02, common=0.0),
        Noise(0.1, tail=3.0, memory=0.5, common=0.6, drift=1e-4),
        Noise(0.01, tail=6.0, memory=0.2, common=0.3, spikes=0.02, spike=15.0),
    ],
)
def test_what_was_drawn_is_fitted_again(noise: Noise) -> None:
    got = fit(drawn(noise))
    assert got.scale == pytest.approx(noise.scale, rel=0.06)
    # Beyond ten degrees of freedom tails hardly differ.
    assert min(got.tail, 10.0) == pytest.approx(min(noise.tail, 10.0), rel=0.25)
    assert got.memory == pytest.approx(noise.memory, abs=0.06)
    assert got.common == pytest.approx(noise.common, abs=0.06)
    assert got.spikes == pytest.approx(noise.spikes, abs=0.01)
    assert got.drift == pytest.approx(noise.drift, abs=1e-5)
    if noise.spikes:
        assert got.spike == pytest.approx(noise.spike, rel=0.1)


def test_a_whole_search_of_a_slow_ramp_names_no_culprit() -> None:
    runner = simulated(dict.fromkeys(range(1, 40), -0.004))
    got = searched(runner)
    assert len(runner.made) <= MOST_RUNS + 1
    assert all(row.verdict == "worse" for row in got.ends)
    assert not any(found.confirmed for found in got.found)
