"""Bisecting a simulated line: one culprit, several, none; dead builds, failing steps, drift."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from benchmarks.bisection import CPU, QPS, SimulatedLine, simulated_cells
from benchmarks.noise import Noise
from pipeline.experiments.bisect import Bisected, bisect
from pipeline.experiments.experiment import Figure
from pipeline.text.errors import UserError

ONE = (QPS,)


def simulated(culprits: Mapping[int, float], **options: Any) -> SimulatedLine:
    options.setdefault("noise", Noise(0.01, common=0.0))
    return SimulatedLine(culprits, np.random.default_rng(options.pop("seed", 1)), **options)


def measured(runner: SimulatedLine) -> set[int]:
    return {at for at, _ in runner.made}


def searched(
    runner: SimulatedLine, count: int = 40, figures: Sequence[Figure] = ONE, **options: Any
) -> Bisected:
    return bisect(simulated_cells(count), figures, runner, lambda _: None, **options)


@pytest.mark.parametrize("culprit", [1, 17, 39])
def test_one_culprit_is_named_and_confirmed(culprit: int) -> None:
    runner = simulated({culprit: -0.08})
    got = searched(runner)
    (found,) = got.found
    assert (got.outcome, got.worst) == ("culprit", found)
    assert (found.parent, found.culprit) == (f"c{culprit - 1}", f"c{culprit}")
    assert found.confirmed
    assert found.between == ()
    assert found.probability >= 0.99
    (row,) = found.rows
    assert (row.step, row.metric, row.verdict) == ("insert", "qps", "worse")
    assert row.interval[0] <= -0.08 <= row.interval[1] < 0.0
    assert got.runs == len(runner.made)
    assert got.builds == len(measured(runner)) <= 2 + 2 * math.log2(40)


def test_an_improvement_is_found_as_well() -> None:
    got = searched(simulated({9: 0.1}))
    assert got.worst is not None
    assert (got.worst.culprit, got.worst.rows[0].verdict) == ("c9", "better")


def test_nothing_changed() -> None:
    runner = simulated({})
    got = searched(runner)
    assert (got.outcome, got.found, got.worst) == ("no change", (), None)
    assert [row.verdict for row in got.ends] == ["same"]
    assert measured(runner) == {0, 39}


def test_drift_of_the_machine_is_no_change() -> None:
    # A percent with every ten runs: pairs run in turn forwards and backwards.
    assert searched(simulated({}, noise=Noise(0.01, drift=0.001))).outcome == "no change"
    got = searched(simulated({23: -0.08}, noise=Noise(0.01, drift=0.0005)))
    assert [found.culprit for found in got.found] == ["c23"]


def test_two_culprits_are_both_named() -> None:
    got = searched(simulated({10: -0.08, 30: -0.06}))
    assert [(found.culprit, found.confirmed) for found in got.found] == [
        ("c10", True),
        ("c30", True),
    ]
    assert got.worst == got.found[0]


def test_a_culprit_that_hides_behind_an_improvement() -> None:
    got = searched(simulated({10: -0.15, 30: 0.08}))
    assert [found.culprit for found in got.found] == ["c10", "c30"]
    assert [found.rows[0].verdict for found in got.found] == ["worse", "better"]


def test_what_does_not_build_is_left_out_and_may_be_the_culprit() -> None:
    said: list[str] = []
    runner = simulated({20: -0.1}, dead=[18, 19, 20, 3, 25])
    got = bisect(simulated_cells(40), ONE, runner, said.append)
    (found,) = got.found
    assert (found.parent, found.between, found.culprit) == ("c17", ("c18", "c19", "c20"), "c21")
    assert found.confirmed
    left_out = [text for text in said if text.startswith("c19 is skipped")]
    assert left_out == ["c19 is skipped: its build failed (cc: error: it does not compile)"]
    assert got.builds >= len(measured(runner)) + 3


def test_a_step_that_fails_leaves_its_revision_out() -> None:
    got = searched(simulated({20: -0.1}, failing=[19]))
    (found,) = got.found
    assert (found.parent, found.between, found.culprit) == ("c18", ("c19",), "c20")


def test_figures_are_searched_together_and_missing_ones_left_out() -> None:
    absent = Figure("insert", "stall_s")
    got = searched(simulated({20: -0.1}), figures=(QPS, absent, CPU))
    (found,) = got.found
    assert found.culprit == "c20"
    assert {row.metric: row.verdict for row in found.rows} == {"qps": "worse", "cpu_us/o": "worse"}


def test_what_is_built_is_measured_first() -> None:
    runner = simulated({20: -0.1}, there={0, 39, 22, 18})
    searched(runner)
    order = list(dict.fromkeys(at for at, _ in runner.made))
    assert set(order[2:4]) == {18, 22}


def test_a_killed_search_goes_on_where_it_was() -> None:
    whole = simulated({20: -0.08}, seed=4)
    expected = searched(whole)
    killed = simulated({20: -0.08}, seed=4)
    killed.most = len(whole.made) - 12
    with pytest.raises(KeyboardInterrupt):
        searched(killed)
    before = set(killed.made)
    killed.most = math.inf
    got = searched(killed)
    assert [found.culprit for found in got.found] == ["c20"] == [expected.found[0].culprit]
    assert before <= set(killed.made), "nothing was made twice"


def test_the_budget_ends_it_with_a_range() -> None:
    seconds = itertools.count()
    got = searched(simulated({20: -0.1}), seconds=13, clock=lambda: float(next(seconds)))
    (found,) = got.found
    assert got.outcome == "range"
    assert not found.confirmed
    assert found.probability >= 0.95
    assert int(found.parent[1:]) < 20 <= int(found.culprit[1:])
    assert found.rows[0].verdict == "worse"


def test_a_budget_too_small_for_the_ends_decides_nothing() -> None:
    seconds = itertools.count()
    got = searched(simulated({20: -0.1}), seconds=4, clock=lambda: float(next(seconds)))
    assert (got.outcome, got.found) == ("undecided", ())


def test_a_slow_ramp_has_no_culprit_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a lower limit; ``tests/real/statistics`` has the whole search."""
    monkeypatch.setattr("pipeline.experiments.bisect.MOST_RUNS", 200)
    runner = simulated(dict.fromkeys(range(1, 40), -0.004))
    got = searched(runner)
    assert 200 <= len(runner.made) <= 201
    assert all(row.verdict == "worse" for row in got.ends)
    assert not any(found.confirmed for found in got.found)


def test_progress_is_said() -> None:
    said: list[str] = []
    bisect(simulated_cells(40), ONE, simulated({20: -0.1}), said.append)
    assert said[0] == "comparing c0 and c39"
    assert said[1].startswith("c0 and c39 differ after ")
    assert said[2] == (
        "measuring c19 next: the culprit is after c0 and up to c38 (probability 97 %, 38 revisions)"
    )
    assert said[-1].startswith("c19 and c20 differ after ")


def test_ends_that_cannot_be_measured_are_the_users() -> None:
    with pytest.raises(UserError, match=r"^the revision c39 cannot be measured: its build failed"):
        searched(simulated({}, dead=[39]))
    with pytest.raises(
        UserError, match=r"^the revision c0 cannot be measured: 2 .* no qps of insert"
    ):
        searched(simulated({}, failing=[0]))
    with pytest.raises(
        UserError,
        match=(
            "good and bad are the same revision: nothing to bisect; name two different revisions"
        ),
    ):
        searched(simulated({}), count=1)
