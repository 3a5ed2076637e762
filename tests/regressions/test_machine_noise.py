"""What the series of a machine show of each other's noise."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.regressions.machine_noise import known_noise
from pipeline.storage.series import Point, Series
from tests.regressions.samples import key


def wandering(step: int, nights: int, line: str = "main") -> Series:
    """Return a series whose noise has a memory of .5."""
    drawn = np.random.default_rng([step, nights])
    state, points = 0.0, []
    for at in range(nights):
        state = 0.5 * state + float(drawn.normal())
        points.append(Point(at, f"r{at}", 1, 1000.0 + 10.0 * state, f"{line}-{at}"))
    return Series.of(key(step=f"step {step % 3}", line=line), points)


def test_a_new_series_starts_with_the_memory_of_its_machine() -> None:
    old = [wandering(step, 600, f"line {step}") for step in range(18)]
    new = [wandering(1, 8, "new"), wandering(70, 8, "empty")]
    known = known_noise([*old, *new])
    for one in (*old, *new):
        assert known[one.key].autocorrelation == pytest.approx(0.5, abs=0.15)
    # Too few nights of all series show nothing.
    assert known_noise([wandering(1, 60), *new])[new[0].key].autocorrelation is None


def test_a_step_without_enough_nights_has_the_memory_of_its_machine() -> None:
    old = [wandering(3 * step, 600, f"line {step}") for step in range(6)]
    assert {one.key.step for one in old} == {"step 0"}
    new = wandering(1, 8, "new")
    assert known_noise([*old, new])[new.key].autocorrelation == pytest.approx(0.5, abs=0.15)
    elsewhere = new.key.model_copy(update={"machine_class": "another"})
    other = Series.of(elsewhere, new.points)
    assert known_noise([*old, other])[other.key].autocorrelation is None
