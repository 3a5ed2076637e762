"""A pair that is counted: one run of each side decides, whatever the machine does."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from benchmarks.confirm import BASE, HEAD, simulated_pair
from pipeline.experiments.experiment import Figure, Figures
from pipeline.experiments.interleaved import (
    FAILURES,
    Block,
    BlocksResult,
    Pair,
    Question,
    interleave,
    judged,
)
from pipeline.model import Cell, Mode
from pipeline.model.counts import FLOOR, INSTRUCTIONS

SCAN, QUERY = Figure("scan", INSTRUCTIONS), Figure("point-query", INSTRUCTIONS)


def counted_pair() -> Pair:
    def counted(cell: Cell) -> Cell:
        workload = cell.workload.model_copy(update={"mode": Mode.COUNT})
        return cell.model_copy(update={"workload": workload})

    timed = simulated_pair()
    return Pair(base=counted(timed.base), head=counted(timed.head))


class Counter:
    """A runner whose counts are given by side and attempt; another attempt counts nothing."""

    def __init__(self, counts: Mapping[tuple[str, int], Figures]) -> None:
        self.counts = counts
        self.runs: list[tuple[str, int]] = []
        self.prepared: list[str] = []
        self.now = 1000.0

    def prepare(self, cell: Cell) -> None:
        self.prepared.append(cell.revision.label)

    def built(self, cell: Cell) -> bool:
        return cell.revision.label in self.prepared

    def measure(self, cell: Cell, attempt: int) -> Figures:
        self.runs.append((cell.revision.label, attempt))
        self.now += 20.0
        return self.counts.get((cell.revision.label, attempt), {})

    def clock(self) -> float:
        return self.now


def ask(
    counts: Mapping[tuple[str, int], Figures], *figures: Figure, smallest: float = 0.003
) -> tuple[BlocksResult, Counter]:
    runner = Counter(counts)
    question = Question(figures=figures or (SCAN,), smallest_effect=smallest)
    return interleave(runner, counted_pair(), question, runner.clock), runner


def pair_of(base: float, head: float) -> dict[tuple[str, int], Figures]:
    return {(BASE, 1): {SCAN: base}, (HEAD, 1): {SCAN: head}}


@pytest.mark.parametrize(
    ("head", "smallest", "verdict"),
    [
        (1004.0, 0.003, "worse"),
        (996.0, 0.003, "better"),
        (1002.0, 0.003, "same"),
        (1000.0, 0.003, "same"),
        # Larger than what is of interest, but not than equal builds may differ.
        (1000.4, 0.0001, "same"),
        (1000.6, 0.0001, "worse"),
    ],
)
def test_one_run_of_each_side_decides(head: float, smallest: float, verdict: str) -> None:
    answer, runner = ask(pair_of(1000.0, head), smallest=smallest)
    assert runner.prepared == [BASE, HEAD]
    assert runner.runs == [(BASE, 1), (HEAD, 1)]
    assert (answer.blocks, answer.seconds, answer.moved) == (1, 40.0, ())
    (row,) = answer.rows
    assert (row.step, row.metric, row.verdict, row.blocks) == ("scan", INSTRUCTIONS, verdict, 1)
    assert row.effect == pytest.approx(head / 1000.0 - 1.0)
    assert row.interval == pytest.approx((row.effect - FLOOR, row.effect + FLOOR))
    assert (row.smallest_visible, row.note) == (FLOOR, "")


def test_what_failed_is_counted_once_more() -> None:
    counts = pair_of(1000.0, 1004.0)
    counts[HEAD, 2] = counts.pop((HEAD, 1))
    counts[BASE, 2] = {SCAN: 2000.0}
    answer, runner = ask(counts)
    assert runner.runs == [(BASE, 1), (HEAD, 1), (BASE, 2), (HEAD, 2)]
    assert (answer.blocks, answer.seconds) == (2, 80.0)
    # The first value of each side counts.
    assert answer.rows[0].effect == pytest.approx(0.004)
    assert answer.rows[0].verdict == "worse"


def test_each_figure_is_counted_on_both_sides() -> None:
    counts: dict[tuple[str, int], Figures] = {
        (BASE, 1): {SCAN: 1000.0, QUERY: 50.0},
        (HEAD, 1): {SCAN: 1000.0},
        (HEAD, 2): {QUERY: 60.0},
    }
    answer, runner = ask(counts, SCAN, QUERY)
    assert len(runner.runs) == 4
    assert [row.verdict for row in answer.rows] == ["same", "worse"]


@pytest.mark.parametrize(
    ("has", "verdict", "note"),
    [
        (BASE, "failed", f"no value for head in {FAILURES} runs"),
        (HEAD, "undecided", "no value for base"),
        ("", "undecided", "no value for either side"),
    ],
)
def test_a_side_without_a_count(has: str, verdict: str, note: str) -> None:
    counts: dict[tuple[str, int], Figures] = {
        (has, attempt): {SCAN: 1000.0} for attempt in range(1, FAILURES + 1)
    }
    answer, runner = ask(counts)
    assert len(runner.runs) == 2 * FAILURES
    (row,) = answer.rows
    assert (row.verdict, row.note, row.blocks, row.effect) == (verdict, note, 0, 0.0)


def test_nothing_is_counted_against_zero() -> None:
    answer, _ = ask(pair_of(0.0, 10.0))
    (row,) = answer.rows
    assert (row.verdict, row.note, row.blocks) == (
        "undecided",
        "zero at base: no ratio can be computed",
        0,
    )


def test_existing_blocks_are_judged_alike() -> None:
    question = Question(figures=(SCAN,), smallest_effect=0.003)
    blocks: list[Block] = [({SCAN: 1000.0}, {SCAN: 1004.0}, {})]
    answer = judged(question, blocks, 40.0, Mode.COUNT)
    measured, _ = ask(pair_of(1000.0, 1004.0))
    assert answer == measured
