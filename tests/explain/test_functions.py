from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.explain.functions import function_changes
from pipeline.profiles.folded import fold

BEFORE = {"postgres;main;scan;compare": 30, "postgres;main;scan": 20, "postgres;main;send": 50}
AFTER = {
    "postgres;main;scan;compare": 30,
    "postgres;main;scan": 20,
    "postgres;main;send": 50,
    "postgres;main;log;write": 75,
    "postgres;main;log": 25,
}
"""Everything as before, and as much again in log."""

RECORDED = Path(__file__).parents[1] / "profiles" / "data" / "perf-script.txt"


def test_more_of_the_same_work_is_gained_by_what_is_new_alone() -> None:
    found = {each.name: each for each in function_changes(BEFORE, AFTER, 10.0, 20.0)}
    assert found["write"].gained == pytest.approx(7.5)
    assert found["log"].gained == pytest.approx(2.5)
    assert (found["log"].total_before, found["log"].total_after) == (0.0, pytest.approx(10.0))
    # Their shares of the samples halved, and what they cost did not.
    for name in ("scan", "compare", "send"):
        assert found[name].gained == pytest.approx(0.0)
    assert found["main"].own_after == 0.0
    assert found["main"].total_after == pytest.approx(20.0)


def test_what_gained_most_by_itself_comes_first_and_what_lost_last() -> None:
    found = function_changes(AFTER, BEFORE, 20.0, 10.0)
    assert [each.name for each in found][-2:] == ["log", "write"]
    assert function_changes(BEFORE, AFTER, 10.0, 20.0)[0].name == "write"


def test_without_the_cost_of_an_operation_shares_are_in_percent() -> None:
    found = {each.name: each for each in function_changes(BEFORE, AFTER)}
    assert (found["send"].own_before, found["send"].own_after) == (50.0, 25.0)


def test_a_function_that_calls_itself_counts_once() -> None:
    stacks = {"sqlite;walk;walk;walk": 10, "sqlite;step": 10}
    (walk,) = (each for each in function_changes(stacks, stacks) if each.name == "walk")
    assert (walk.own_before, walk.total_before) == (50.0, 50.0)


def test_recorded_stacks_of_one_profile_gain_nothing() -> None:
    stacks = fold(RECORDED.read_text().splitlines())
    assert sum(stacks.values()) > 0
    found = function_changes(
        stacks, {stack: 2 * count for stack, count in stacks.items()}, 50.0, 50.0
    )
    assert all(each.gained == pytest.approx(0.0) for each in found)
    assert sum(each.own_after for each in found) == pytest.approx(50.0)
