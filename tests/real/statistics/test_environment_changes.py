"""Steps and ramps of a machine, and how they are distinguished."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.environment.changes import changes_of
from pipeline.environment.fit import LevelFit, MachineChange, fit
from pipeline.environment.noise import deviations
from pipeline.environment.panel import Panel
from tests.environment.panels import Level, panel

SMALLEST = 0.01


def found(level: Level, updates: tuple[int, ...] = (), **more: float | int) -> LevelFit:
    return searched(panel(level, **more), updates)  # type: ignore[arg-type]


def searched(whole: Panel, updates: tuple[int, ...] = ()) -> LevelFit:
    return changes_of(whole, updates, deviations([whole])[0], 0.5, SMALLEST)


def ramp(night: int, first: int, last: int, size: float) -> float:
    return size * min(max(night - first, 0), last - first) / (last - first)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_machine_that_stays_itself_has_no_changes(seed: int) -> None:
    level = found(lambda figure, night: 8.0, seed=seed)
    assert level.changes == ()
    assert not level.moved.any()
    assert np.abs(level.start - 8.0).max() < 4 * 0.007 / np.sqrt(200)


def test_a_step_has_its_size_in_the_figures_that_it_moves() -> None:
    level = found(lambda figure, night: 8.0 - (0.03 if night >= 60 and figure < 4 else 0.0))
    (change,) = level.changes
    assert (change.first, change.ramp) == (60, False)
    assert np.abs(level.sizes[:4, 0] + 0.03).max() < 0.005
    assert (level.sizes[4:, 0] == 0.0).all()


def test_what_creeps_is_a_ramp() -> None:
    level = found(lambda figure, night: 8.0 + (ramp(night, 40, 80, -0.12) if figure < 2 else 0.0))
    (change,) = level.changes
    assert change.ramp
    assert abs(change.first - 40) <= 4
    assert abs(change.last - 80) <= 4
    assert np.flatnonzero(level.sizes[:, 0]).tolist() == [0, 1]


def test_a_step_and_a_ramp_of_one_machine_are_distinguished() -> None:
    def both(figure: int, night: int) -> float:
        slow = ramp(night, 30, 70, -0.12) if figure < 3 else 0.0
        return 8.0 + slow + (0.03 if night >= 50 else 0.0)

    level = found(both)
    ramps = [each for each in level.changes if each.ramp]
    steps = [each for each in level.changes if not each.ramp]
    assert len(ramps) == 1
    assert [each.first for each in steps] == [50]
    true = np.array([[both(figure, night) for night in range(100)] for figure in range(6)])
    assert np.abs(level.start[:, None] + level.moved - true).max() < 0.012


def test_what_the_fingerprint_says_needs_no_search() -> None:
    """Of a single night behind a step no detection would find it yet."""

    def fresh(figure: int, night: int) -> float:
        return 8.0 + (0.04 if night >= 99 else 0.0)

    assert found(fresh).changes == ()
    (change,) = found(fresh, updates=(99,)).changes
    assert change == MachineChange(99, 99, 99, 99)


def test_an_update_that_did_nothing_is_no_change() -> None:
    assert found(lambda figure, night: 8.0, updates=(30, 60)).changes == ()


def test_a_step_near_an_update_is_the_update() -> None:
    level = found(lambda figure, night: 8.0 + (0.02 if night >= 60 else 0.0), updates=(59,))
    assert [each.first for each in level.changes] == [59]


def test_missing_nights_and_figures_that_began_later_are_no_changes() -> None:
    whole = panel(lambda figure, night: 8.0 + figure)
    whole.values[0, 20:30] = np.nan
    whole.values[1, :50] = np.nan
    whole.values[2, ::2, 1] = np.nan
    level = searched(whole, (40,))
    assert level.changes == ()
    assert np.abs(level.start - 8.0 - np.arange(6)).max() < 0.005


def test_a_night_that_is_far_off_moves_no_level() -> None:
    whole = panel(lambda figure, night: 8.0)
    whole.values[:, 50] -= 1.0
    level = searched(whole)
    assert level.changes == ()
    assert np.abs(level.start - 8.0).max() < 0.004


@pytest.mark.parametrize("nights", [1, 2, 3, 9, 12])
def test_few_nights_are_no_mistake(nights: int) -> None:
    level = found(lambda figure, night: 8.0, nights=nights)
    assert level.changes == ()
    assert np.isfinite(level.start).all()
    assert np.isfinite(level.start_errors).all()


def test_moods_of_days_widen_errors() -> None:
    quick = panel(lambda figure, night: 8.0)
    slow = panel(lambda figure, night: 8.0 + 0.01 * np.sin(night / 3))
    assert (
        fit(slow.means, (), deviations([slow])[0]).start_errors[0]
        > 1.5 * fit(quick.means, (), deviations([quick])[0]).start_errors[0]
    )
