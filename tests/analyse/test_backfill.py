"""Which skipped revision is measured next, on simulated lines."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from pipeline.analyse.backfill import WITNESSES, Choice, Doubt, Gaps, choose, doubts_of, outlook
from pipeline.analyse.regressions import group_shifts
from pipeline.model import Point, Regression, RegressionKind, RegressionState, Series, Shift
from tests.analyse.samples import key, shift

EVERY = 16
"""Of a followed branch so many commits later the next was measured."""


def gaps(
    count: int,
    measured: Collection[int],
    dead: Collection[int] = (),
    built: Collection[int] = (),
    asked: range | None = None,
    line: str = "trunk",
    doubts: Sequence[Doubt] = (),
) -> Gaps:
    return Gaps(
        line=line,
        labels=tuple(f"c{at}" for at in range(count)),
        measured=frozenset(measured),
        dead=frozenset(dead),
        asked=asked or range(count),
        ends=asked is not None,
        built=lambda at: at in built,
        doubts=tuple(doubts),
    )


def places(lines: Gaps | Sequence[Gaps]) -> list[int]:
    return [choice.place for choice in outlook([lines] if isinstance(lines, Gaps) else lines)]


def doubt(good: int, bad: int, name: str = "f", rank: tuple[int, int] = (0, 0)) -> Doubt:
    return Doubt(name, rank, good, bad, {})


class Branch:
    """A branch of commits whose figures are drawn: culprits by place, with what they change."""

    def __init__(self, count: int, culprits: dict[int, float], noise: float, seed: int) -> None:
        self.count, self.culprits, self.noise = count, culprits, noise
        self.labels = [f"c{at}" for at in range(count)]
        self._random = np.random.default_rng(seed)
        self.points: list[Point] = []

    def measure(self, at: int, runs: int = 3) -> None:
        level = math.prod(1 + effect for place, effect in self.culprits.items() if place <= at)
        for repetition in range(1, runs + 1):
            noise = float(self._random.normal(0.0, self.noise))
            self.points.append(
                Point(
                    position=at,
                    revision=f"c{at}",
                    repetition=repetition,
                    value=1000.0 * level * math.exp(noise),
                    run_id=f"c{at}-{repetition}",
                )
            )

    @property
    def measured(self) -> set[int]:
        return {int(point.revision[1:]) for point in self.points}

    def series(self) -> list[Series]:
        return [Series(key=key(line="trunk"), points=tuple(self.points))]

    def found(self, good: int, bad: int, state: RegressionState) -> Regression:
        """What a detection tells of a change between two places, whatever is measured."""
        (one,) = group_shifts([between(good, bad)])
        return one.model_copy(update={"state": state})


def between(good: int, bad: int, step: str = "scan") -> Shift:
    labels = {"last_good": f"c{good}", "first_bad": f"c{bad}"}
    return shift(bad, line="trunk", step=step).model_copy(update=labels)


def filled(branch: Branch, regressions: Sequence[Regression], dead: Collection[int] = ()) -> int:
    """Measure while something is to be learnt of the regressions; return the builds tried."""
    known: set[int] = set()
    for tried in range(branch.count):
        doubts = doubts_of(regressions, branch.series(), "trunk", branch.labels)
        choice = choose([gaps(branch.count, branch.measured, known, doubts=doubts)])
        if choice is None or not choice.doubt:
            return tried
        if choice.place in dead:
            known.add(choice.place)
        else:
            branch.measure(choice.place)
    raise AssertionError("it never ends")


def test_the_widest_gap_is_halved_and_any_stop_leaves_an_even_picture() -> None:
    line = gaps(65, [0, 64])
    seen = [0, 64]
    for place in places(line):
        seen = sorted([*seen, place])
        widths = [b - a for a, b in pairwise(seen)]
        assert max(widths) <= 2 * min(widths) + 1
    assert seen == list(range(65))


def test_of_several_lines_and_gaps_the_widest_is_first_and_of_equal_ones_the_newest() -> None:
    lines = [gaps(20, [0, 10, 19], line="a"), gaps(30, [3, 20, 28], line="b")]
    chosen = [(choice.line, choice.place) for choice in outlook(lines)]
    assert chosen[:3] == [("b", 12), ("a", 5), ("b", 8)]
    assert ("b", 1) not in chosen, "below the first that was measured"
    assert places(gaps(9, [0, 4, 8]))[:2] == [6, 2]


def test_what_does_not_build_is_passed_over() -> None:
    line = gaps(10, [0, 9], dead=[3, 4, 5, 6])
    assert line.left() == 4
    assert sorted(places(line)) == [1, 2, 7, 8]
    assert choose([gaps(5, [0, 4], dead=[1, 2, 3])]) is None


def test_of_two_middles_the_one_that_is_built_is_taken() -> None:
    assert [places(gaps(6, [0, 5], built=built))[0] for built in ([], [2])] == [3, 2]


@pytest.mark.parametrize("measured", [[], [4]])
def test_without_two_measured_revisions_there_is_no_gap(measured: list[int]) -> None:
    line = gaps(9, measured)
    assert choose([line]) is None
    assert line.left() == 0


def test_what_is_asked_for_is_measured_from_end_to_end() -> None:
    line = gaps(100, [0, 99], dead=[20], asked=range(20, 61))
    assert line.left() == 40
    chosen = places(line)
    assert chosen[:3] == [21, 60, 41]
    assert sorted(chosen) == list(range(21, 61))
    # Where something beyond is known, the ends are no more than others.
    assert places(gaps(10, [3, 7], asked=range(3, 8)))[0] == 5


def test_doubts_come_first_in_their_order_and_the_outlook_tells_the_first_of_each() -> None:
    mild, bad = doubt(20, 24, "mild", (1, 0)), doubt(4, 8, "bad", (0, 1))
    line = gaps(100, [0, 4, 8, 20, 24, 99], doubts=[mild, bad])
    told = list(outlook([line]))
    assert [(choice.place, choice.doubt) for choice in told[:3]] == [
        (6, "bad"),
        (22, "mild"),
        (62, ""),
    ]
    assert told[0].why == "bad is after c4 and up to c8, 4 revisions"
    assert told[2].why == "in the widest gap, 74 revisions between c24 and c99"
    # Neighbours are known as well as they can be.
    assert choose([gaps(3, [0, 1, 2], doubts=[doubt(0, 1)])]) is None


def test_only_what_is_suspected_or_confirmed_is_looked_for() -> None:
    branch = Branch(41, {}, 0.01, 1)
    states = list(RegressionState)
    known = [branch.found(4, 8, state) for state in states]
    doubts = doubts_of(known, [], "trunk", branch.labels)
    assert [(states[each.rank[1]], each.rank[0]) for each in doubts] == [
        (RegressionState.SUSPECTED, 1),
        (RegressionState.CONFIRMED, 0),
    ]
    assert doubts_of(known, [], "other", branch.labels) == ()
    assert doubts_of(known, [], "trunk", branch.labels[:8]) == (), "c8 left the line"


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("off", [0, 1])
def test_a_change_is_located_in_few_builds(seed: int, off: int) -> None:
    """Also where the change point is one measured revision too late."""
    culprit = 90 + seed
    branch = Branch(201, {culprit: -0.06}, 0.01, seed)
    for at in range(0, 201, EVERY):
        branch.measure(at)
    bad = EVERY * math.ceil(culprit / EVERY) + off * EVERY
    dead = set(range(culprit - 8, culprit + 8, 5)) - branch.measured
    tried = filled(branch, [branch.found(bad - EVERY, bad, RegressionState.SUSPECTED)], dead)
    assert tried <= 2 * math.log2(EVERY) + len(dead)
    good = max(at for at in branch.measured if at < culprit)
    first = min(at for at in branch.measured if at >= culprit)
    assert set(range(good + 1, first)) <= dead, "only what does not build is between them"


def test_a_change_of_spread_is_halved() -> None:
    branch = Branch(41, {}, 0.01, 1)
    for at in (0, 16, 32):
        branch.measure(at)
    spread = branch.found(16, 32, RegressionState.SUSPECTED)
    only = tuple(each.model_copy(update={"kind": RegressionKind.SPREAD}) for each in spread.shifts)
    (one,) = doubts_of(
        [spread.model_copy(update={"shifts": only})], branch.series(), "trunk", branch.labels
    )
    assert one.runs == {}
    choice = choose([gaps(41, [0, 16, 32], doubts=[one])])
    assert choice is not None
    assert choice.place == 24


def test_the_figures_around_end_at_other_changes_and_after_a_few() -> None:
    branch = Branch(1000, {500: -0.1, 540: -0.1}, 0.01, 1)
    for at in range(0, 1000, 10):
        branch.measure(at)
    first, second = (branch.found(at - 10, at, RegressionState.CONFIRMED) for at in (500, 540))
    one, other = doubts_of([first, second], branch.series(), "trunk", branch.labels)
    assert list(one.runs) == [*range(500 - 10 * WITNESSES, 500, 10), 500, 510, 520, 530]
    assert list(other.runs) == [500, 510, 520, 530, *range(540, 540 + 10 * WITNESSES, 10)]


def test_runs_without_all_figures_tell_nothing() -> None:
    branch = Branch(41, {30: -0.1}, 0.005, 1)
    for at in (0, 16, 24, 32, 40):
        branch.measure(at)
    (qps,) = branch.series()
    half = tuple(point for point in qps.points if point.revision != "c24")
    both = [qps, Series(key=key("other", line="trunk"), points=half)]
    (found,) = group_shifts([between(16, 32), between(16, 32, "other")])
    (one,) = doubts_of([found], both, "trunk", branch.labels)
    assert list(one.runs) == [0, 16, 32, 40]
    # The revision whose step failed is measured, and is not asked for again.
    line = gaps(41, [0, 16, 24, 32, 40], doubts=[one])
    choice = choose([line])
    assert isinstance(choice, Choice)
    assert 16 < choice.place < 32
    assert choice.place != 24


def test_alike_figures_tell_no_place() -> None:
    """A suspicion that nothing is left of ends the search, and the gaps are filled."""
    runs = {at: [{"scan qps": 100.0}] * 3 for at in (0, 16)}
    nothing = replace(doubt(0, 16), runs=runs)
    choice = choose([gaps(17, [0, 16], doubts=[nothing])])
    assert choice is not None
    assert (choice.place, choice.doubt) == (8, "")
