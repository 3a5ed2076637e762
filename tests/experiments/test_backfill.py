"""Which skipped revision is measured next, on simulated lines."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.backfill import COUNT, EVERY, KEY, Branch, between, gap_of, known, locate
from pipeline.experiments.backfill import WITNESSES, Doubt, Gaps, choose, doubts_of, planned_choices
from pipeline.model import Culprit, RegressionKind, RegressionState
from pipeline.regressions.grouping import group_shifts
from pipeline.storage.series import Series


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
    return [
        choice.place for choice in planned_choices([lines] if isinstance(lines, Gaps) else lines)
    ]


def doubt(good: int, bad: int, name: str = "f", rank: tuple[int, int] = (0, 0)) -> Doubt:
    return Doubt(name, rank, good, bad, {})


def branch(culprits: Mapping[int, float], count: int = 41, seed: int = 1) -> Branch:
    return Branch(culprits, np.random.default_rng(seed), count=count)


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
    chosen = [(choice.line, choice.place) for choice in planned_choices(lines)]
    assert chosen[:3] == [("b", 12), ("a", 5), ("b", 8)]
    assert ("b", 1) not in chosen, "below the first that was measured"
    assert places(gaps(9, [0, 4, 8]))[:2] == [6, 2]


def test_what_does_not_build_is_skipped() -> None:
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


def test_doubts_come_first_in_their_order_and_the_outlook_names_the_first_of_each() -> None:
    mild, bad = doubt(20, 24, "mild", (1, 0)), doubt(4, 8, "bad", (0, 1))
    line = gaps(100, [0, 4, 8, 20, 24, 99], doubts=[mild, bad])
    reported = list(planned_choices([line]))
    assert [(choice.place, choice.doubt) for choice in reported[:3]] == [
        (6, "bad"),
        (22, "mild"),
        (62, ""),
    ]
    assert reported[0].why == "the cause of bad lies after c4 and up to c8 (4 revisions)"
    assert reported[2].why == "the widest gap: 74 unmeasured revisions between c24 and c99"
    # Neighbours are known as well as they can be.
    assert choose([gaps(3, [0, 1, 2], doubts=[doubt(0, 1)])]) is None


def test_only_what_is_suspected_or_confirmed_is_looked_for() -> None:
    states, labels = list(RegressionState), branch({}).labels
    all_states = [known(4, 8, state) for state in states]
    doubts = doubts_of(all_states, [], "trunk", labels)
    assert [(states[each.rank[1]], each.rank[0]) for each in doubts] == [
        (RegressionState.SUSPECTED, 1),
        (RegressionState.CONFIRMED, 0),
    ]
    assert doubts_of(all_states, [], "other", labels) == ()
    assert doubts_of(all_states, [], "trunk", labels[:8]) == (), "c8 left the line"
    for sure, count in ((True, 0), (False, 1)):
        culprit = Culprit(revision="c6", parent="c5", probability=0.99, confirmed=sure)
        named = known(4, 8).model_copy(update={"culprit": culprit})
        assert len(doubts_of([named], [], "trunk", labels)) == count


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("off", [0, 1])
def test_a_change_is_located_in_few_builds(seed: int, off: int) -> None:
    """Also where the change point is one measured revision too late."""
    culprit = 90 + seed
    line = branch({culprit: -0.06}, COUNT, seed)
    line.measure(*range(0, COUNT, EVERY))
    dead = set(range(culprit - 8, culprit + 8, 5)) - line.measured
    builds = locate(line, known(*gap_of(culprit, off)), dead)
    assert builds <= 2 * math.log2(EVERY) + len(dead)
    good = max(at for at in line.measured if at < culprit)
    first = min(at for at in line.measured if at >= culprit)
    assert set(range(good + 1, first)) <= dead, "only what does not build is between them"


def test_a_change_of_spread_is_halved() -> None:
    line = branch({})
    line.measure(0, 16, 32)
    level = known(16, 32)
    shifts = tuple(each.model_copy(update={"kind": RegressionKind.SPREAD}) for each in level.shifts)
    spread = level.model_copy(update={"shifts": shifts, "kind": RegressionKind.SPREAD})
    (one,) = doubts_of([spread], [line.series()], "trunk", line.labels)
    assert one.runs == {}
    choice = choose([gaps(41, [0, 16, 32], doubts=[one])])
    assert choice is not None
    assert (choice.place, choice.doubt) == (24, spread.fingerprint)
    # So is a level without a ratio, and one that is no more among the series that are watched.
    gone = tuple(each.model_copy(update={"before": 0.0}) for each in level.shifts)
    for changed, series in (
        (level.model_copy(update={"shifts": gone}), [line.series()]),
        (level, []),
    ):
        assert doubts_of([changed], series, "trunk", line.labels)[0].runs == {}


def test_the_figures_around_end_at_other_changes_and_after_a_few() -> None:
    line = branch({500: -0.1, 540: -0.1}, 1000)
    line.measure(*range(0, 1000, 10))
    first, second = (known(at - 10, at, RegressionState.CONFIRMED) for at in (500, 540))
    one, other = doubts_of([first, second], [line.series()], "trunk", line.labels)
    assert list(one.runs) == [*range(500 - 10 * WITNESSES, 500, 10), 500, 510, 520, 530]
    assert list(other.runs) == [500, 510, 520, 530, *range(540, 540 + 10 * WITNESSES, 10)]


def test_runs_without_all_figures_are_no_evidence() -> None:
    line = branch({30: -0.1})
    line.measure(0, 16, 24, 32, 40)
    other = KEY.model_copy(update={"step": "scan"})
    half = tuple(point for point in line.points if point.revision != "c24")
    (found,) = group_shifts([between(16, 32), between(16, 32, other)])
    both = [line.series(), Series.of(key=other, points=half)]
    (one,) = doubts_of([found], both, "trunk", line.labels)
    assert list(one.runs) == [0, 16, 32, 40]
    # The revision whose step failed is measured, and is not asked for again.
    choice = choose([gaps(41, [0, 16, 24, 32, 40], doubts=[one])])
    assert choice is not None
    assert 16 < choice.place < 32
    assert choice.place != 24


def test_a_suspicion_without_evidence_ends_its_search() -> None:
    """A suspicion that nothing is left of ends the search, and the gaps are filled."""
    runs = {at: [{"scan qps": 100.0}] * 3 for at in (0, 16)}
    nothing = replace(doubt(0, 16), runs=runs)
    choice = choose([gaps(17, [0, 16], doubts=[nothing])])
    assert choice is not None
    assert (choice.place, choice.doubt) == (8, "")
