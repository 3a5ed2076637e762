from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.machine.disturbance.base import Disturbance, DisturbanceKind, Limits
from pipeline.machine.disturbance.guard import SHARES, WATCHES, Guard, RepeatBudget
from pipeline.machine.kernel_files import Tree
from pipeline.model import ProbeSample
from tests.machine.disturbance.trees import STILL, put, total

HOT = Disturbance(DisturbanceKind.THROTTLING, "hot")
STOLEN = Disturbance(DisturbanceKind.STEAL, "stolen")


def guard(root: Path, limits: Limits | None = None) -> Guard:
    return Guard(limits or Limits(), Tree(root), lambda: STILL[0])


def calm_step(one: Guard) -> None:
    assert one.watch({1}).over() == ()


def test_every_kind_has_its_watch() -> None:
    assert {*SHARES, *WATCHES} == set(DisturbanceKind)


def test_all_that_disturbed_a_step_is_reported(tmp_path: Path) -> None:
    put(tmp_path, {**total(100, 100), "/proc/vmstat": "oom_kill 0"})
    watched = guard(tmp_path).watch({1})
    put(tmp_path, {**total(600, 560, 40), "/proc/vmstat": "oom_kill 2"})
    found = watched.over()
    assert [each.kind for each in found] == [DisturbanceKind.STEAL, DisturbanceKind.OUT_OF_MEMORY]
    assert [each.reported for each in found] == [
        "the hypervisor took 7.4 % of the time of the processors",
        "the kernel killed 2 processes because memory ran out",
    ]


def test_samples_of_the_step_are_looked_at(tmp_path: Path) -> None:
    samples = [ProbeSample(float(at), {"cpu.hz": 4e9 - 2e9 * (at > 4)}) for at in range(10)]
    (found,) = guard(tmp_path).watch({1}).over(samples)
    assert found.kind is DisturbanceKind.CLOCK_RATE


def test_switched_off_it_reads_nothing(tmp_path: Path) -> None:
    def never() -> object:
        raise AssertionError("a clock was read")

    off = Guard(Limits(watch=False), Tree(tmp_path), never)  # type: ignore[arg-type]
    put(tmp_path, {"/proc/vmstat": "oom_kill 0"})
    watched = off.watch({1})
    put(tmp_path, {"/proc/vmstat": "oom_kill 1"})
    assert watched.over() == ()


def test_it_is_repeated_so_often_and_not_more(tmp_path: Path) -> None:
    one = guard(tmp_path, Limits(repeat=2))
    assert [one.repeats([HOT], repeated) for repeated in range(4)] == [True, True, False, False]
    assert not one.repeats([], 0)


def test_marking_only(tmp_path: Path) -> None:
    one = guard(tmp_path, Limits(repeat=0))
    assert not one.repeats([HOT], 0)


def stays(one: Guard, found: Disturbance) -> None:
    """Let a disturbance stay through all the repetitions."""
    repeated = 0
    while one.repeats([found], repeated):
        repeated += 1
    assert repeated


def test_what_stays_through_all_repetitions_is_repeated_no_more(tmp_path: Path) -> None:
    one = guard(tmp_path)
    stays(one, STOLEN)
    assert not one.repeats([STOLEN], 0)
    # Another kind is another matter, also beside one that stays.
    assert one.repeats([HOT], 0)
    assert one.repeats([STOLEN, HOT], 0)


def test_a_step_without_it_ends_that(tmp_path: Path) -> None:
    one = guard(tmp_path)
    stays(one, STOLEN)
    calm_step(one)
    assert one.repeats([STOLEN], 0)


def test_a_step_with_it_does_not(tmp_path: Path) -> None:
    one = guard(tmp_path)
    stays(one, STOLEN)
    put(tmp_path, total(100, 100))
    watched = one.watch({1})
    put(tmp_path, total(600, 560, 40))
    assert [each.kind for each in watched.over()] == [DisturbanceKind.STEAL]
    assert not one.repeats([STOLEN], 0)


@pytest.mark.parametrize("noisy", [0, 1, 40])
def test_a_machine_that_is_always_noisy_costs_two_repetitions(tmp_path: Path, noisy: int) -> None:
    """However many steps a night has."""
    one = guard(tmp_path, Limits(repeat=2))
    measured = 0
    for _ in range(noisy):
        repeated = 0
        while one.repeats([STOLEN], repeated):
            repeated += 1
        measured += 1 + repeated
    assert measured == (noisy + 2 if noisy else 0)


def test_shares_are_kept_whether_or_not_they_disturb(tmp_path: Path) -> None:
    put(tmp_path, total(100, 100))
    watched = guard(tmp_path).watch({1})
    put(tmp_path, total(196, 196, 4))
    assert watched.over() == ()
    assert watched.taken == {DisturbanceKind.OTHERS: 0.0, DisturbanceKind.STEAL: 0.04}


def test_limits_count_from_what_is_usual_on_the_machine(tmp_path: Path) -> None:
    usual = {DisturbanceKind.STEAL: 0.1}
    one = Guard(Limits(), Tree(tmp_path), lambda: STILL[0], usual=usual)
    for stolen, found in ((14, []), (16, [DisturbanceKind.STEAL])):
        put(tmp_path, total(0, 0))
        watched = one.watch({1})
        put(tmp_path, total(100 - stolen, 100, stolen))
        assert [each.kind for each in watched.over()] == found


def test_a_night_repeats_at_once_only_what_its_budget_allows(tmp_path: Path) -> None:
    budget = RepeatBudget(0.15)
    one = Guard(Limits(), Tree(tmp_path), lambda: STILL[0], budget=budget)
    assert not one.repeats([HOT], 0, seconds=10.0)
    budget.measured(100.0)
    assert one.repeats([HOT], 0, seconds=10.0)
    assert not one.repeats([HOT], 0, seconds=10.0)
    budget.measured(40.0)
    assert one.repeats([HOT], 0, seconds=10.0)


def test_a_night_repeats_a_run_at_once_only_if_it_failed(tmp_path: Path) -> None:
    one = Guard(Limits(), Tree(tmp_path), lambda: STILL[0], budget=RepeatBudget(0.15))
    assert not one.repeats_run([HOT], 0)
    assert one.repeats_run([HOT], 0, failed=True)
    assert guard(tmp_path).repeats_run([HOT], 0)
    assert not guard(tmp_path).repeats_run([HOT], 2)
