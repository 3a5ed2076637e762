"""The noise of real runs: what is drawn is fitted again, and what was fitted is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.noise import FAR, LEAST_RUNS, Draws, Noise, fitted
from changepoint.series import Floats


def drawn(noise: Noise, runs: int = 4000, figures: int = 3) -> Floats:
    draws = Draws(noise, figures, np.random.default_rng(17))
    return np.array([draws.next() for _ in range(runs)])


def test_at_another_scale_the_shape_is_the_same() -> None:
    noise = Noise(0.1, tail=4.0, memory=0.5, spikes=0.02, spike=12.0, drift=1e-3)
    small = noise.scaled(0.02)
    assert (small.scale, small.drift) == (0.02, pytest.approx(2e-4))
    assert drawn(small, 50) == pytest.approx(drawn(noise, 50) / 5.0)


def test_what_drifts_and_spikes_becomes_slower() -> None:
    still, drifting = Noise(0.01), Noise(0.01, drift=0.001)
    assert drawn(drifting, 100)[-1] - drawn(still, 100)[-1] == pytest.approx(0.1)
    spiked = drawn(Noise(0.01, spikes=1.0, spike=20.0), 10) - drawn(still, 10)
    assert np.median(spiked) == pytest.approx(0.2, abs=0.05)


def test_real_runs_of_each_target_and_metric_were_fitted() -> None:
    noises = fitted()
    assert set(noises) == {
        (target, metric) for target in ("sqlite", "postgres") for metric in ("qps", "cpu_us/o")
    }
    for noise in noises.values():
        assert 0.0 < noise.scale < 1.0
        assert noise.tail >= 1.0
        assert 0.0 <= noise.memory < 1.0
        assert 0.0 <= noise.common < 1.0
        assert noise.spike > FAR or not noise.spikes


def test_too_few_runs_are_refused_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.noise", str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"there are 0 runs; {LEAST_RUNS} are needed" in done.stderr
