"""Bisection: what it finds, on machines that wander too, the state, the edges, the errors."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changepoint import Bisection
from changepoint.bisection.fit import fit, information
from changepoint.bisection.search import REFERENCE
from changepoint.evaluate.bisections import SimulatedLine, World, search, search_all

pytestmark = pytest.mark.filterwarnings("error")

WRITES = {"insert": 100.0, "delete": 7.0}


def ended(count: int, ends: int = 4, **options: Any) -> Bisection:
    """A search whose ends differ by a tenth."""
    bisection = Bisection(count, **options)
    for i in range(ends):
        bisection.add(0, {"value": 100.0 + i})
        bisection.add(count - 1, {"value": 90.0 + i})
    return bisection


def test_the_ends_come_first_and_then_the_middle() -> None:
    bisection = Bisection(101)
    assert bisection.next() == 0
    bisection.add(0, {"value": 100.0})
    assert bisection.next() == 100
    assert 48 <= ended(101).next() <= 52


@pytest.mark.parametrize("culprit", [1, 2, 37, 62, 63])
def test_without_noise_it_takes_the_logarithm_of_builds(culprit: int) -> None:
    bisection = Bisection(64, noise=0.001, build_spread=0.0001)
    while not bisection.culprit.done:
        at = bisection.next()
        bisection.add(at, {"value": 100.0 if at < culprit else 95.0})
    found = bisection.culprit
    assert (found.last_good, found.first_bad) == (culprit - 1, culprit)
    assert found.probability >= 0.99
    assert found.effects["value"] == pytest.approx(-0.05, abs=1e-4)
    assert len(bisection.measured) <= 2 + math.log2(64) + 1


def test_a_build_is_asked_for_where_it_is_cheap() -> None:
    costs = np.full(101, 20.0)
    costs[40] = 0.0
    assert ended(101).next(costs) == 40
    costs[90] = 0.0
    assert ended(101).next(costs) == 40, "nearer to the middle"


def test_what_cannot_be_built_is_part_of_the_answer() -> None:
    bisection = ended(12, noise=0.001)
    for at in (5, 6):
        bisection.skip(at)
    while not bisection.culprit.done:
        at = bisection.next()
        assert at not in (5, 6)
        bisection.add(at, {"value": 100.0 if at < 6 else 90.0})
    found = bisection.culprit
    assert (found.last_good, found.first_bad) == (4, 7)
    assert bisection.range(0.5) == found


def test_two_positions_need_no_search() -> None:
    found = ended(2).culprit
    assert (found.last_good, found.first_bad, found.probability, found.done) == (0, 1, 1.0, True)
    assert ended(2).next() == 0


def test_nothing_is_known_before_the_ends() -> None:
    bisection = Bisection(5)
    bisection.add(2, {"value": 1.0})
    assert bisection.culprit.probability == pytest.approx(0.25)
    whole = bisection.range(0.99)
    assert (whole.last_good, whole.first_bad, whole.probability) == (0, 4, 1.0)
    assert not whole.done


def test_ranges_grow_with_their_probability() -> None:
    bisection = ended(101)
    bisection.add(50, {"value": 100.0})
    ranges = [bisection.range(p) for p in (0.05, 0.3, 0.6, 0.9, 0.999)]
    sizes = [each.first_bad - each.last_good for each in ranges]
    assert sizes == sorted(sizes)
    assert all(a.probability <= b.probability for a, b in pairwise(ranges))
    assert ranges[3].last_good >= 45, "the good half is unlikely"
    with pytest.raises(ValueError, match="probability"):
        bisection.range(1.0)


def test_levels_that_do_not_differ_send_it_back_to_the_ends() -> None:
    bisection = Bisection(9)
    for _ in range(2):
        bisection.add(0, {"value": 5.0})
    bisection.add(8, {"value": 5.0})
    assert bisection.next() == 8


def test_ends_are_measured_as_often_as_any_other() -> None:
    bisection = ended(3, ends=2, noise=0.2, confidence=0.9999)
    for _ in range(30):
        bisection.add(bisection.next(), {"value": 97.0})
    sizes = Counter(at for at, _ in bisection.to_dict()["runs"])
    assert sizes[1] <= min(sizes[0], sizes[2])
    assert abs(sizes[0] - sizes[2]) <= 1


def test_one_spike_does_not_decide() -> None:
    plain, spiked = ended(16), ended(16)
    for bisection in (plain, spiked):
        for value in (100.0, 101.0, 99.0, 100.0):
            bisection.add(8, {"value": value})
    spiked.add(8, {"value": 50.0})
    assert plain.culprit.last_good >= 8
    assert spiked.range(0.9).last_good >= 8


def test_series_that_move_together_are_searched_together() -> None:
    random = np.random.default_rng(3)

    def probability(names: tuple[str, ...]) -> float:
        bisection = Bisection(9, names)
        for at in (0, 0, 0, 8, 8, 8, 4):
            level = 100.0 if at < 5 else 96.0
            bisection.add(at, {name: level + 0.3 * random.normal() for name in names})
        return bisection.range(0.5).probability if bisection.culprit.last_good >= 4 else 0.0

    assert probability(("a", "b", "c")) > 0.5


def test_series_with_one_noise_count_as_one() -> None:
    random = np.random.default_rng(5)
    noise = 0.03 * random.normal(size=(26, 3))

    positions = np.array([0, 8] * 12 + [4, 4])
    levels = np.where(positions < 8, 0.0, -0.03)[:, None]

    independent = fit(positions, levels + noise, 9, 0.03, 0.003, True)
    same = fit(positions, levels + noise[:, [0, 0, 0]], 9, 0.03, 0.003, True)
    one = fit(positions, levels + noise[:, :1], 9, 0.03, 0.003, True)
    assert same.share == pytest.approx(1 / 3, abs=0.02)
    assert np.diff(same.loglik) == pytest.approx(np.diff(one.loglik), rel=0.05)
    assert independent.share > 0.7
    assert one.share == 1.0


figure = st.floats(1e-3, 1e3)
run = st.tuples(st.integers(0, 9), figure, figure)


@settings(max_examples=60, deadline=None)
@given(st.lists(run, max_size=25), st.sets(st.integers(1, 8), max_size=4))
def test_a_copy_is_the_same(runs: list[tuple[int, float, float]], skipped: set[int]) -> None:
    bisection = Bisection(10, ("a", "b"))
    for at, a, b in runs:
        bisection.add(at, {"b": b, "a": a})
    for at in sorted(skipped - {at for at, *_ in runs}):
        bisection.skip(at)
    copy = Bisection.from_json(bisection.to_json())
    assert copy.to_json() == bisection.to_json()
    assert copy.culprit == bisection.culprit
    assert copy.runs == len(runs)
    found = bisection.culprit
    assert 0 <= found.last_good < found.first_bad <= 9
    assert 0.0 < found.probability <= 1.0
    assert bisection.next() in set(range(10)) - skipped | {at for at, *_ in runs}


def test_adding_a_run_of_what_was_skipped_takes_it_back() -> None:
    bisection = ended(5)
    bisection.skip(2)
    bisection.add(2, {"value": 100.0})
    assert bisection.measured == (0, 2, 4)
    with pytest.raises(ValueError, match="already measured"):
        bisection.skip(2)


@pytest.mark.parametrize("value", [1e-300, 1e300, 1.0])
def test_extreme_levels(value: float) -> None:
    bisection = Bisection(8)
    for at in (0, 7, 3, 3, 3):
        bisection.add(at, {"value": value if at else 1.0})
    assert bisection.culprit.probability > 0.0
    assert 0 <= bisection.next() <= 7


def test_information() -> None:
    half = np.array([0.5])
    assert information(half, np.array([0.0]))[0] == pytest.approx(0.0, abs=1e-12)
    assert information(half, np.array([100.0]))[0] == pytest.approx(math.log(2.0), abs=1e-3)
    # The capacity of a binary channel with Gaussian noise whose levels are 2 deviations apart:
    # .4859 bits (Proakis, Digital Communications, at 0 dB).
    got = information(half, np.array([2.0]))[0] / math.log(2.0)
    assert got == pytest.approx(0.4859, abs=2e-3)
    certain = information(np.array([0.0, 1.0]), np.array([2.0, 2.0]))
    assert certain == pytest.approx([0.0, 0.0], abs=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 1}, "count"),
        ({"count": 2.0}, "count"),
        ({"series": ()}, "series"),
        ({"series": ("a", "a")}, "series"),
        ({"confidence": 1.0}, "confidence"),
        ({"noise": 0.0}, "noise"),
        ({"build_spread": math.nan}, "build_spread"),
    ],
)
def test_refused_options(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Bisection(**{"count": 4, **options})


@pytest.mark.parametrize(
    ("position", "figures"),
    [
        (4, {"value": 1.0}),
        (-1, {"value": 1.0}),
        (True, {"value": 1.0}),
        (0, {}),
        (0, {"value": 1.0, "other": 1.0}),
        (0, {"value": 0.0}),
        (0, {"value": math.nan}),
        (0, {"value": math.inf}),
    ],
)
def test_refused_runs_leave_the_state(position: Any, figures: Any) -> None:
    bisection = ended(4)
    before = bisection.to_json()
    with pytest.raises(ValueError, match=r"position|figure") as caught:
        bisection.add(position, figures)
    assert "\n" not in str(caught.value)
    assert bisection.to_json() == before


def test_refused_skips_and_costs() -> None:
    bisection = ended(4)
    for at in (0, 3, 9):
        with pytest.raises(ValueError, match="position"):
            bisection.skip(at)
    for costs in ([1.0], [1.0, 1.0, -1.0, 1.0], [math.nan] * 4):
        with pytest.raises(ValueError, match="4 build costs"):
            bisection.next(costs)


@pytest.mark.parametrize(
    "change",
    [
        {"count": 1},
        {"runs": [[9, [1.0]]]},
        {"runs": [[0, [1.0, 2.0]]]},
        {"runs": [[0, [math.inf]]]},
        {"runs": 3},
        {"skipped": [0]},
        {"noise": None},
    ],
)
def test_a_tree_that_is_no_bisection(change: Any) -> None:
    tree = json.loads(ended(4).to_json())
    with pytest.raises(ValueError, match="the saved state of the bisection is invalid"):
        Bisection.from_dict({**tree, **change})
    with pytest.raises(ValueError, match="the saved state of the bisection is invalid"):
        Bisection.from_dict({"count": 4})


@pytest.mark.parametrize("machine", ["drifts", "steps"])
def test_a_machine_that_moves_is_no_culprit(machine: str) -> None:
    random = np.random.default_rng(93)
    bisection = Bisection(1024)
    ends = itertools.cycle([0, 1023, 1023, 0])
    for run in range(200):
        at = next(ends) if run < 20 else bisection.next()
        moved = -0.001 * run if machine == "drifts" else -0.05 * (run >= 25)
        level = -0.05 * (at >= 700) + moved + 0.01 * random.normal()
        bisection.add(at, {"value": math.exp(level)})
        if bisection.culprit.done and run > 20:
            break
    found = bisection.culprit
    assert found.done
    assert (found.last_good, found.first_bad) == (699, 700)


def test_without_an_order_the_machine_stands_still() -> None:
    order = list(range(10))
    random = np.random.default_rng(94)
    probabilities = []
    for in_order in (True, False):
        for places in (order, random.permutation(order).tolist()):
            bisection = Bisection(10, in_order=in_order)
            for at in np.repeat(places, 3).tolist():
                bisection.add(at, {"value": 100.0 if at < 6 else 96.0})
            assert bisection.culprit.first_bad == 6
            probabilities.append(bisection.culprit.probability)
    assert probabilities[2] == pytest.approx(probabilities[3])
    assert probabilities[0] < probabilities[2], "a machine that went down would do as well"


def test_ends_are_seen_again_and_again() -> None:
    bisection = ended(1001)
    order = []
    for _ in range(3 * REFERENCE):
        order.append(bisection.next())
        bisection.add(order[-1], {"value": 100.0})
    assert all({0, 1000} & set(part) for part in zip(*[iter(order)] * REFERENCE, strict=True))


def test_simulated_lines() -> None:
    # The rates are in docs/guide/bisection.md; a few lines of each kind show that they end rightly.
    random = np.random.default_rng(91)
    for line in (
        SimulatedLine(),
        SimulatedLine(noise="spikes", layout=0.003),
        SimulatedLine(noise="t3"),
    ):
        for _ in range(4):
            world = World(line, random)
            found = search(world, 0, 1023)
            assert found is not None
            assert found.done
            assert found.holds(world.culprits[0])
            assert world.builds <= 20


def test_simulated_lines_with_two_culprits_and_none() -> None:
    random = np.random.default_rng(92)
    world = World(SimulatedLine((0.08, 0.08)), random)
    found = search_all(world, 0, 1023)
    assert [each.holds(at) for each, at in zip(found, world.culprits, strict=True)] == [True, True]
    assert search(World(SimulatedLine(()), random), 0, 1023) is None
