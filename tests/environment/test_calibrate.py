"""Series as the class would have measured them, and shifts that may be a machine's."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pytest

from pipeline.environment.calibrate import Calibration, RunPlace, alike, expected
from pipeline.environment.fit import MachineChange, fit
from pipeline.environment.guard import excused
from pipeline.environment.noise import deviations
from pipeline.environment.offsets import MachineOffset, machine_offsets
from pipeline.environment.panel import ClassMachine
from pipeline.model import SeriesKey
from pipeline.storage.series import Point, Series
from tests.environment.panels import BEGAN, Level, figure, panel
from tests.regressions.samples import key, shift

NIGHTS = 40


def standing(level: Level, *changes: MachineChange) -> MachineOffset:
    one = panel(level, nights=NIGHTS, noise=0.002)
    return machine_offsets([(one, fit(one.means, changes, deviations([one])[0]))])[0]


def of(step: str, group: str = "writes", unit: str = "queries", metric: str = "qps") -> SeriesKey:
    more = {"group": group, "unit": unit, "workload_hash": "w"}
    return key(step, metric).model_copy(update=more)


def along(series: SeriesKey, machine: str = "bench-1") -> tuple[Series, dict[str, RunPlace]]:
    """A point a night, of 100."""
    points = tuple(
        Point(position=at, revision=f"17.{at}", repetition=1, value=100.0, run_id=str(at))
        for at in range(NIGHTS)
    )
    place = ClassMachine("ax162-s", machine)
    runs = {str(at): RunPlace(place, BEGAN + timedelta(days=at, hours=2)) for at in range(NIGHTS)}
    return Series.of(key=series, points=points), runs


STEP = MachineChange(20, 20, 20, 20)


def slower(number: int, night: int) -> float:
    return 8.0 - (0.05 if night >= 20 else 0.0)


def test_a_step_of_the_machine_is_taken_out_of_its_series() -> None:
    series, runs = along(of("step 1"))
    found = Calibration([standing(slower, STEP)], 0.03).series(series, runs)
    values = [point.value for point in found.points]
    assert values[:20] == [100.0] * 20
    assert values[20:] == pytest.approx([100 * math.exp(0.05)] * 20, rel=0.002)


def test_what_no_control_speaks_of_is_returned_as_it_is() -> None:
    calibration = Calibration([standing(slower, STEP)], 0.03)
    for series, runs in (along(of("step 1", metric="cs/o")), along(of("step 1"), "elsewhere")):
        assert calibration.series(series, runs) is series
    series, _ = along(of("step 1"))
    assert calibration.series(series, {}) is series


def test_a_machine_that_did_nothing_leaves_its_series_as_they_are() -> None:
    series, runs = along(of("step 1"))
    assert Calibration([standing(lambda f, n: 8.0)], 0.03).series(series, runs) is series


def test_a_machine_that_is_worn_out_is_left_out() -> None:
    ramp = MachineChange(10, 30, 10, 10)

    def worn(number: int, night: int) -> float:
        return 8.0 - (0.2 * ramp.course(NIGHTS)[night] if number == 0 else 0.0)

    calibration = Calibration([standing(worn, ramp)], 0.03)
    series, runs = along(of("step 0"))
    kept = [point.position for point in calibration.series(series, runs).points]
    # A tenth is log 1.1 = .095, which .01 a night reach in the tenth night.
    assert kept == list(range(20))
    series, runs = along(of("step 1"))
    assert len(calibration.series(series, runs).points) == NIGHTS


def test_a_machine_that_was_repaired_counts_again() -> None:
    ramp, fixed = MachineChange(10, 25, 10, 10), MachineChange(30, 30, 30, 30)

    def repaired(number: int, night: int) -> float:
        return 8.0 - (0.15 * ramp.course(NIGHTS)[night] if night < 30 else 0.0)

    series, runs = along(of("step 0"))
    found = Calibration([standing(repaired, ramp, fixed)], 0.03).series(series, runs)
    assert [point.position for point in found.points] == [*range(20), *range(30, NIGHTS)]


def test_long_after_the_last_control_a_bad_night_is_over() -> None:
    one = standing(lambda figure, night: 8.0 - (0.1 if night == NIGHTS - 1 else 0.0))
    series, runs = along(of("step 1"))
    found = Calibration([one], 0.03).series(series, runs)
    assert len(found.points) == NIGHTS - 1
    weeks = {name: run._replace(at=run.at + timedelta(weeks=9)) for name, run in runs.items()}
    assert len(Calibration([one], 0.03).series(series, weeks).points) == NIGHTS


def test_nights_that_may_be_before_or_behind_a_step_are_left_out() -> None:
    series, runs = along(of("step 1"))
    found = Calibration([standing(slower, MachineChange(20, 20, 18, 21))], 0.03).series(
        series, runs
    )
    assert [at for at in range(NIGHTS) if at not in {p.position for p in found.points}] == [
        18,
        19,
        20,
    ]


def test_a_night_in_which_most_figures_were_off_is_left_out() -> None:
    one = standing(lambda figure, night: 8.0 - (0.1 if night == 7 and figure < 4 else 0.0))
    series, runs = along(of("step 5"))
    found = Calibration([one], 0.03).series(series, runs)
    assert len(found.points) == NIGHTS - 1
    assert 7 not in {point.position for point in found.points}


def test_the_figures_that_are_most_alike_stand_for_a_series() -> None:
    figures = [
        figure("scan", group="scans"),
        figure("insert")._replace(workload_hash="other"),
        figure("insert"),
        figure("update"),
        figure("update", metric="cpu_us/o"),
    ]
    assert alike(figures, of("insert")) == ([2], True)
    assert alike(figures, of("insert").model_copy(update={"workload_hash": "new"})) == (
        [1, 2],
        True,
    )
    assert alike(figures, of("delete")) == ([1, 2, 3], False)
    assert alike(figures, of("range", group="ranges")) == ([0, 1, 2, 3], False)
    assert alike(figures, of("range", group="ranges", unit="rows")) == ([0, 1, 2, 3], False)
    assert alike(figures, of("range", metric="cs/o")) == ([], False)


def test_other_steps_count_by_how_much_they_agree() -> None:
    assert expected(np.array([0.03]), own=True) == 0.03
    assert expected(np.array([0.03]), own=False) == pytest.approx(0.015)
    assert expected(np.array([0.03, 0.03, 0.03]), own=False) == pytest.approx(0.03)
    mixed = expected(np.array([-0.1, -0.1, 0, 0, 0, 0.0]), own=False)
    assert -0.033 < mixed < -0.005
    assert expected(np.array([-0.05, 0.05]), own=False) == 0.0


@pytest.mark.parametrize(
    ("effect", "position", "step", "is_excused"),
    [
        (-0.02, 20, "step 1", True),
        # More than half of what the machine did to that very step.
        (-0.045, 20, "step 1", False),
        # Of another step nobody knows what it did.
        (-0.045, 20, "unknown", True),
        (-0.09, 20, "unknown", False),
        # The machine did nothing then.
        (-0.02, 30, "step 1", False),
        (-0.02, 30, "unknown", False),
    ],
)
def test_a_shift_is_excused_that_may_be_all_the_machine(
    effect: float, position: int, step: str, is_excused: bool
) -> None:
    calibration = Calibration([standing(slower, STEP)], 0.03)
    series, runs = along(of(step))
    one = shift(position, effect).model_copy(update={"series": series.key})
    place = excused(one, series, runs, calibration)
    assert place == (ClassMachine("ax162-s", "bench-1") if is_excused else None)


def level(at: float) -> Level:
    return lambda figure, night: at


def test_servers_that_are_new_every_night_excuse_only_by_their_mean() -> None:
    """Each is 3 % from its class, the one half above and the other below."""
    names = [f"night-{night}" for night in range(NIGHTS)]
    levels = [level(8.03), level(7.97)]
    measured = [
        panel(levels[at % 2], machine=name, nights=1, first=at) for at, name in enumerate(names)
    ]
    noise = deviations(measured)
    fits = [(one, fit(one.means, (), each)) for one, each in zip(measured, noise, strict=True)]
    calibration = Calibration(machine_offsets(fits), 0.03)
    series, runs = along(of("unknown"))
    runs = {
        run_id: run._replace(place=ClassMachine("ax162-s", name))
        for (run_id, run), name in zip(runs.items(), names, strict=True)
    }
    one = shift(20, -0.03).model_copy(update={"series": series.key})
    assert excused(one, series, runs, calibration) is None
