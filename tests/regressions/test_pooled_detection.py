"""One commit that slows many series is one regression, however little in each."""

from __future__ import annotations

import random
from collections.abc import Callable

from pipeline.config import DetectSection, RuleSection
from pipeline.measure.plan import Plan
from pipeline.regressions.detect import search
from pipeline.regressions.detected import Detected
from pipeline.regressions.pooled_detection import shared_shifts
from pipeline.regressions.rules import Rules
from pipeline.storage.series import Point, Series
from tests.regressions.samples import find_shifts, key

RULES = Rules(DetectSection(alarms_per_1000=0.5))
NO_PLAN = Plan(lines=(), repetitions=3)

Level = Callable[[int, int], float]
"""(number of the series, position) -> factor."""


def measured(
    level: Level, count: int = 50, positions: int = 14, noise: float = 0.004, seed: int = 3
) -> list[Series]:
    """Series of the same runs, half of the noise shared, three repetitions a position."""
    drawn = random.Random(seed)
    runs = [(at, r, drawn.gauss(0, noise)) for at in range(positions) for r in (1, 2, 3)]
    return [
        Series.of(
            key=key(step=f"step {number:02}"),
            points=tuple(
                Point(
                    position=at,
                    revision=f"17.{at}",
                    repetition=r,
                    value=1000 * level(number, at) * (1 + shared + drawn.gauss(0, noise)),
                    run_id=f"{at}-{r}",
                )
                for at, r, shared in runs
            ),
        )
        for number in range(count)
    ]


def found(series: list[Series]) -> Detected:
    return search(series, NO_PLAN, RULES)


def test_fifty_series_changed_by_one_commit_are_one_regression() -> None:
    series = measured(lambda number, at: 0.93 - 0.002 * number if at >= 8 else 1.0)
    (one,) = found(series).regressions
    assert one.first_bad == "17.8"
    assert {shift.series for shift in one.shifts} == {each.key for each in series}


def test_two_commits_a_week_apart_are_two() -> None:
    def level(number: int, at: int) -> float:
        return (0.9 if at >= 5 else 1.0) * (0.9 if at >= 12 and number % 2 else 1.0)

    regressions = found(measured(level, positions=20)).regressions
    assert sorted(one.first_bad for one in regressions) == ["17.12", "17.5"]
    extents = {one.first_bad: len(one.shifts) for one in regressions}
    assert extents == {"17.5": 50, "17.12": 25}


def test_nothing_changed_is_nothing() -> None:
    assert found(measured(lambda number, at: 1.0)).regressions == ()


def test_small_changes_that_move_together_are_found_and_joined() -> None:
    """A change of 4.5 % in noise of 4 %: seldom clear in one series, and surely in twelve."""
    series = measured(
        lambda number, at: 0.955 if at >= 7 and number < 12 else 1.0, count=16, noise=0.03, seed=8
    )
    alone = [shift for one in series for shift in find_shifts(one, RULES.settings_of(one.key, 16))]
    joined = shared_shifts(series, alone, RULES)
    assert len(alone) <= 6
    assert len(joined) >= 4
    (one,) = found(series).regressions
    assert abs(one.position - 7) <= 1
    members = {int(shift.series.step[-2:]) for shift in one.shifts}
    assert len(one.shifts) == len(members) == len(alone) + len(joined)
    assert members <= set(range(12)), "those that did not change take no part"


def test_what_shows_by_itself_is_not_reported_twice() -> None:
    series = measured(lambda number, at: 0.9 if at >= 7 else 1.0, count=6)
    alone = [shift for one in series for shift in find_shifts(one, RULES.settings_of(one.key, 6))]
    assert len(alone) == 6
    assert shared_shifts(series, alone, RULES) == []


def test_rules_hold_for_what_is_found_together() -> None:
    series = measured(lambda number, at: 0.95 if at >= 7 else 1.0, count=12, noise=0.02, seed=8)
    assert shared_shifts(series, [], RULES)
    for said in ({"direction": "better"}, {"min_effect": "20%"}):
        rule = RuleSection.model_validate(said)
        rules = Rules(DetectSection(alarms_per_1000=0.5), [rule])
        assert shared_shifts(series, [], rules) == []


def test_other_runs_are_other_groups() -> None:
    """Two series that nothing measured together are no evidence for each other."""
    series = measured(lambda number, at: 0.9 if at >= 7 else 1.0, count=2)
    apart = [one.with_key(clients=number) for number, one in enumerate(series, start=1)]
    assert len(shared_shifts(series, [], RULES)) == 2
    assert shared_shifts(apart, [], RULES) == []
