"""Bisecting by counts on simulated lines of counted revisions."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from benchmarks.bisection import simulated_cells
from pipeline.experiments.bisect import Bisected
from pipeline.experiments.bisect_counts import bisect_counts
from pipeline.experiments.experiment import Figure, Figures
from pipeline.measure.build import NotBuiltError
from pipeline.model import Cell, Mode
from pipeline.model.counts import FLOOR, INSTRUCTIONS
from pipeline.text.errors import UserError

SCAN = Figure("scan", INSTRUCTIONS)
COUNT = 1024


class CountedLine:
    """A line whose revisions change the instructions; every run differs by up to the floor."""

    def __init__(self, changes: Mapping[int, float], seed: int, broken: Sequence[int] = ()) -> None:
        self._changes, self._broken = changes, broken
        self._drawn = random.Random(seed)
        self.made: list[int] = []

    def level(self, at: int) -> float:
        return 1e6 * math.prod(1 + size for place, size in self._changes.items() if place <= at)

    def prepare(self, cell: Cell) -> None:
        return

    def built(self, cell: Cell) -> bool:
        return False

    def measure(self, cell: Cell, attempt: int) -> Figures:
        at = int(cell.revision.label.removeprefix("c"))
        if at in self._broken:
            raise NotBuiltError("code.c:1: error")
        self.made.append(at)
        return {SCAN: self.level(at) * (1 + self._drawn.uniform(-FLOOR, FLOOR) / 2)}


def searched(
    runner: CountedLine, count: int = COUNT, known: bool = False, **options: Any
) -> Bisected:
    cells = [
        cell.model_copy(update={"workload": cell.workload.model_copy(update={"mode": Mode.COUNT})})
        for cell in simulated_cells(count)
    ]
    ends = ({SCAN: runner.level(0)}, {SCAN: runner.level(count - 1)}) if known else None
    return bisect_counts(
        cells, [SCAN], runner, lambda _: None, smallest=0.003, known=ends, **options
    )


@pytest.mark.parametrize(("effect", "seed"), [(0.005, 1), (-0.01, 2), (0.44, 3)])
def test_of_1024_commits_the_culprit_is_named_in_eleven_builds(effect: float, seed: int) -> None:
    """Among small changes of other commits, at the worst A/A difference that the bar allows."""
    drawn = random.Random(seed)
    right, builds, runs = 0, [], []
    for trial in range(100):
        culprit = drawn.randrange(1, COUNT)
        others = {drawn.randrange(1, COUNT): drawn.gauss(0.0, 0.0003) for _ in range(5)}
        runner = CountedLine({**others, culprit: effect}, seed=1000 * seed + trial)
        got = searched(runner, known=True)
        (found,) = got.found or (None,)
        right += found is not None and found.confirmed and found.culprit == f"c{culprit}"
        builds.append(got.builds)
        runs.append(got.runs)
    assert right >= 99
    assert sum(builds) / 100 <= 11
    assert sum(runs) / 100 <= 13


def test_ends_that_nobody_counted_cost_two_more_builds() -> None:
    got = searched(CountedLine({700: 0.01}, seed=4))
    assert got.worst is not None
    assert (got.worst.culprit, got.worst.parent) == ("c700", "c699")
    assert got.outcome == "culprit"
    assert (got.builds, got.runs) == (12, 14)
    (row,) = got.worst.rows
    assert row.verdict == "worse"
    assert row.effect == pytest.approx(0.01, abs=2 * FLOOR)


def test_equal_ends_have_no_culprit() -> None:
    got = searched(CountedLine({}, seed=5))
    assert (got.outcome, got.builds, got.runs) == ("no change", 2, 2)


def test_both_of_two_culprits_are_found() -> None:
    got = searched(CountedLine({100: 0.01, 900: 0.03}, seed=6))
    assert [each.culprit for each in got.found] == ["c100", "c900"]
    assert got.worst is not None
    assert got.worst.culprit == "c900"


def test_revisions_that_do_not_build_may_be_the_culprit() -> None:
    got = searched(CountedLine({20: 0.05}, seed=7, broken=[19, 20]), count=40)
    assert got.worst is not None
    assert (got.worst.parent, got.worst.between, got.worst.culprit) == (
        "c18",
        ("c19", "c20"),
        "c21",
    )
    with pytest.raises(UserError, match="the instructions of c39 cannot be counted; name"):
        searched(CountedLine({20: 0.05}, seed=7, broken=[39]), count=40)


def test_a_creep_has_no_culprit() -> None:
    got = searched(CountedLine(dict.fromkeys(range(40), 0.001), seed=8), count=40)
    assert got.outcome == "range"
    assert got.worst is not None
    assert (got.worst.parent, got.worst.culprit) == ("c0", "c39")


def test_a_search_whose_time_is_up_reports_its_range() -> None:
    ticks = iter(range(1000))
    got = searched(
        CountedLine({20: 0.05}, seed=9), count=40, seconds=3, clock=lambda: float(next(ticks))
    )
    assert got.outcome == "range"
    assert got.worst is not None
    assert "c20" in (*got.worst.between, got.worst.culprit)
