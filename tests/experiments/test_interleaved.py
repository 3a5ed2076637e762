"""Blocks on simulated machines: their order, their end, and what is reported."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from benchmarks.confirm import (
    BASE,
    CONTROL,
    HEAD,
    RUN_SECONDS,
    SimulatedMachine,
    confirmed,
    fixed_runs,
    simulated_figures,
    simulated_pair,
)
from benchmarks.noise import Noise
from changepoint.comparison.group_sequential import FIRST_LOOK, LARGEST_LIMIT
from pipeline.experiments.comparison_kinds import KINDS
from pipeline.experiments.confirm import verdict_of
from pipeline.experiments.experiment import Figure
from pipeline.experiments.interleaved import (
    Block,
    BlocksResult,
    Pair,
    Question,
    copy_of,
    interleave,
    judged,
)
from pipeline.measure.build import NotBuiltError
from pipeline.model import RegressionKind

PAIR = simulated_pair()


def machine(figures: tuple[Figure, ...], **reported: Any) -> SimulatedMachine:
    return SimulatedMachine(figures, np.random.default_rng(5), **reported)


def ask(figures: tuple[Figure, ...], simulated: SimulatedMachine, **asked: Any) -> BlocksResult:
    question = Question(figures=figures, **{"seconds": math.inf, **asked})
    return interleave(simulated, PAIR, question, simulated.clock)


ONE = simulated_figures(1)


def test_blocks_alternate_and_head_stands_between_two_of_base() -> None:
    simulated = machine(ONE)
    ask(ONE, simulated, blocks=3)
    assert simulated.runs == [
        (BASE, 1), (HEAD, 1), (CONTROL, 1),
        (CONTROL, 2), (HEAD, 2), (BASE, 2),
        (BASE, 3), (HEAD, 3), (CONTROL, 3),
    ]  # fmt: skip


@pytest.mark.parametrize(("change", "verdict"), [(-0.05, "worse"), (0.05, "better"), (0.0, "same")])
def test_it_stops_as_soon_as_it_is_clear(change: float, verdict: str) -> None:
    answer = ask(ONE, machine(ONE, changes={HEAD: change}))
    (row,) = answer.rows
    assert row.verdict == verdict
    assert 3 <= row.blocks == answer.blocks < 15
    low, high = row.interval
    assert low < change < high
    assert row.effect == pytest.approx(change, abs=0.02)
    assert answer.moved == ()
    assert answer.seconds == 3 * RUN_SECONDS * answer.blocks


def test_less_of_a_cost_is_better() -> None:
    cost = (Figure("scan", "cpu_us/o"),)
    (row,) = ask(cost, machine(cost, changes={HEAD: 0.08})).rows
    assert row.verdict == "worse"
    assert row.loss == pytest.approx(0.08, abs=0.02)
    (row,) = ask(cost, machine(cost, changes={HEAD: -0.08})).rows
    assert row.verdict == "better"
    assert row.loss == pytest.approx(-0.08, abs=0.02)


def test_who_asks_only_for_the_worse_is_content_with_less() -> None:
    reported = {"changes": {HEAD: 0.012}, "noise": Noise(0.005)}
    (both,) = ask(ONE, machine(ONE, **reported)).rows
    (one,) = ask(ONE, machine(ONE, **reported), only="worse").rows
    assert one.verdict == "not worse"
    assert one.interval[0] > -0.02
    assert one.blocks < both.blocks


def test_a_steady_drift_of_the_machine_is_no_change() -> None:
    for drift in (-0.004, 0.004):
        answer = ask(ONE, machine(ONE, noise=Noise(0.01, drift=drift)))
        assert answer.moved == ()
        assert answer.rows[0].verdict == "same"


def test_a_control_that_moves_is_the_environment() -> None:
    answer = ask(ONE, machine(ONE, changes={HEAD: -0.06, CONTROL: -0.06}))
    assert len(answer.moved) == 1
    assert answer.moved[0].startswith("step0 qps: -")
    assert verdict_of(answer) == "environment"


class Disturbed(SimulatedMachine):
    """One whose control is slow in some blocks, as if something else had run beside it."""

    until = 0

    def measure(self, cell: Any, attempt: int) -> Any:
        drawn = super().measure(cell, attempt)
        slow = cell.revision.label == CONTROL and attempt <= self.until
        return {figure: value * (0.5 if slow else 1.0) for figure, value in drawn.items()}


def test_who_asks_for_a_verdict_is_not_left_without_one_by_a_machine_that_moved_once() -> None:
    def asked(until: int, **more: Any) -> BlocksResult:
        simulated = Disturbed(ONE, np.random.default_rng(5), changes={HEAD: -0.06})
        simulated.until = until
        return ask(ONE, simulated, **more)

    given_up = asked(3)
    assert (len(given_up.moved), given_up.moved_before, given_up.blocks) == (1, (), 3)
    answer = asked(3, anew=1)
    assert (answer.moved, answer.moved_before) == ((), given_up.moved)
    (row,) = answer.rows
    assert row.verdict == "worse"
    assert row.effect == pytest.approx(-0.06, abs=0.02), "the first blocks count no more"
    assert row.blocks == answer.blocks - 3
    # Whoever judges the same blocks finds the same.
    kept: list[Block] = []
    simulated = Disturbed(ONE, np.random.default_rng(5), changes={HEAD: -0.06})
    simulated.until = 3
    for number in range(1, answer.blocks + 1):
        order = (PAIR.base, PAIR.head, PAIR.control)
        order = order if number % 2 else order[::-1]
        drawn = {cell.key: simulated.measure(cell, number) for cell in order}
        kept.append(tuple(drawn[cell.key] for cell in (PAIR.base, PAIR.head, PAIR.control)))
    again = judged(Question(figures=ONE, seconds=math.inf, anew=1), kept, answer.seconds)
    assert again == answer

    moves = asked(40, anew=1)
    assert (len(moves.moved), len(moves.moved_before), moves.blocks) == (1, 1, 6)
    # Blocks that count no more are spent all the same.
    spent = asked(3, anew=1, blocks=4)
    assert (spent.moved, spent.blocks, spent.rows[0].verdict) == ((), 4, "undecided")


def test_the_budget_ends_it_before_a_block_that_would_exceed_it() -> None:
    simulated = machine(ONE, noise=Noise(0.05))
    answer = ask(ONE, simulated, seconds=10 * RUN_SECONDS)
    assert (answer.blocks, len(simulated.runs)) == (3, 9)
    assert answer.rows[0].verdict == "undecided"
    assert verdict_of(answer) == "undecided"
    assert answer.rows[0].smallest_visible > 0.05
    # One block is always measured; it can show nothing.
    answer = ask(ONE, machine(ONE), seconds=0.0)
    assert answer.blocks == 1
    assert answer.rows[0].smallest_visible == math.inf


def test_a_figure_that_is_clear_keeps_its_verdict_while_others_are_measured() -> None:
    figures = simulated_figures(2)

    class Uneven(SimulatedMachine):
        def measure(self, cell: Any, attempt: int) -> Any:
            drawn = dict(super().measure(cell, attempt))
            drawn[figures[0]] = 900.0 if cell.revision.label == HEAD else 1000.0
            return drawn

    simulated = Uneven(figures, np.random.default_rng(2), noise=Noise(0.02), changes={HEAD: -0.05})
    clear, other = ask(figures, simulated).rows
    assert (clear.verdict, clear.blocks) == ("worse", 3)
    assert other.blocks > 3
    assert clear.effect == pytest.approx(-0.1)


@pytest.mark.parametrize(
    ("failing", "verdict", "said"),
    [
        ({HEAD}, "failed", "no value for head in 2 of 2 blocks"),
        ({BASE, CONTROL}, "undecided", "no value for base in 2 of 2 blocks"),
        ({BASE, CONTROL, HEAD}, "undecided", "no value for either side in 2 of 2 blocks"),
    ],
)
def test_a_step_that_fails_is_given_up(failing: set[str], verdict: str, said: str) -> None:
    answer = ask(ONE, machine(ONE, failing={"step0": failing}))
    (row,) = answer.rows
    assert (row.verdict, row.note, row.blocks) == (verdict, said, 0)
    assert answer.blocks == 2
    assert verdict_of(answer) == ("confirmed" if verdict == "failed" else "undecided")


KEPT = (Figure("qr100", "sla"),)


@pytest.mark.parametrize(
    ("kind", "figures", "reported", "said"),
    [
        (
            RegressionKind.SLA,
            KEPT,
            {"missed": {HEAD: 1.0, CONTROL: 1.0}},
            "qr100 sla: kept in 100% fewer of the runs between two copies of base",
        ),
        (
            RegressionKind.SPREAD,
            ONE,
            {"noise": Noise(0.03), "louder": {HEAD: 20.0, CONTROL: 20.0}},
            "% spread betw",
        ),
    ],
)
def test_the_control_of_a_spread_or_an_sla_can_move_too(
    kind: RegressionKind, figures: tuple[Figure, ...], reported: dict[str, Any], said: str
) -> None:
    answer = ask(figures, machine(figures, **reported), kind=kind, only="worse")
    assert verdict_of(answer) == "environment"
    assert said in answer.moved[0]


def test_a_spread_or_an_sla_that_has_not_shown_after_all_blocks_is_rejected() -> None:
    both = {BASE: 0.5, CONTROL: 0.5, HEAD: 0.5}
    for kind, figures in ((RegressionKind.SLA, KEPT), (RegressionKind.SPREAD, ONE)):
        spent = ask(figures, machine(figures, missed=both), kind=kind, only="worse", blocks=3)
        assert spent.rows[0].verdict == "not shown"
        assert verdict_of(spent) == "rejected"
        simulated = machine(figures, missed=both)
        short = ask(figures, simulated, kind=kind, only="worse", seconds=3 * RUN_SECONDS)
        assert (short.rows[0].verdict, verdict_of(short)) == ("undecided", "undecided")
    level = ask(ONE, machine(ONE, noise=Noise(0.3)), only="worse", blocks=3)
    assert level.rows[0].verdict == "undecided"


def test_less_spread_and_a_kept_sla_are_better_whatever_the_metric() -> None:
    cost = (Figure("scan", "cpu_us/o"),)
    quieter = machine(cost, noise=Noise(0.1), louder={HEAD: 0.1})
    (row,) = ask(cost, quieter, kind=RegressionKind.SPREAD, only="better").rows
    assert row.verdict == "better"
    assert -1.0 < row.effect < -0.5
    kept = machine(KEPT, missed={BASE: 1.0, CONTROL: 1.0})
    answer = ask(KEPT, kept, kind=RegressionKind.SLA, only="better")
    (row,) = answer.rows
    assert (row.verdict, row.effect, row.interval) == ("better", 1.0, (0.0, 1.0))
    assert verdict_of(answer, "better") == "confirmed"
    assert verdict_of(answer, "worse") == "rejected"


def test_an_sla_of_no_work_at_all_is_missed() -> None:
    class Idle(SimulatedMachine):
        def measure(self, cell: Any, attempt: int) -> Any:
            drawn = super().measure(cell, attempt)
            return dict.fromkeys(drawn, 0.0) if cell.revision.label == HEAD else drawn

    answer = ask(KEPT, Idle(KEPT, np.random.default_rng(2)), kind=RegressionKind.SLA)
    assert (answer.rows[0].verdict, answer.blocks) == ("worse", 4)


def test_effects_are_described_in_the_words_of_their_kind() -> None:
    def reported(kind: RegressionKind, effect: float) -> str:
        return KINDS[kind].format_effect(effect)

    assert reported(RegressionKind.LEVEL, -0.123) == "-12.3%"
    assert reported(RegressionKind.SPREAD, 2.0) == "+200% spread"
    assert [reported(RegressionKind.SLA, effect) for effect in (-0.5, 0.0, 1.0)] == [
        "kept in 50% fewer of the runs",
        "kept as often",
        "kept in 100% more of the runs",
    ]


def test_a_step_that_fails_once_is_tried_again() -> None:
    class Once(SimulatedMachine):
        def measure(self, cell: Any, attempt: int) -> Any:
            drawn = super().measure(cell, attempt)
            return {} if (cell.revision.label, attempt) == (HEAD, 1) else drawn

    simulated = Once(ONE, np.random.default_rng(2), changes={HEAD: -0.1})
    answer = ask(ONE, simulated)
    assert answer.rows[0].verdict == "worse"
    assert answer.rows[0].note.startswith("no value for head in 1 of ")
    assert answer.blocks == answer.rows[0].blocks + 1


@pytest.mark.parametrize("failing", [{HEAD}, {BASE, CONTROL}])
def test_a_step_that_fails_says_nothing_of_an_improvement(failing: set[str]) -> None:
    figures = simulated_figures(2)
    simulated = machine(figures, failing={"step1": failing})
    answer = ask(figures, simulated, only="better")
    unchanged, failed = answer.rows
    assert unchanged.verdict in ("not better", "same")
    assert failed.verdict == ("failed" if failing == {HEAD} else "undecided")
    assert verdict_of(answer, "better") == "undecided"


@pytest.mark.parametrize("count", [1, 4])
def test_the_control_errs_as_rarely_as_all_figures_may_together(count: int) -> None:
    figures, trials, wrong = simulated_figures(count), 200, 0.2
    # Effects far below the noise are neither shown nor excluded, so nothing ends a trial early.
    question = Question(figures=figures, wrong=wrong, blocks=6, smallest_effect=0.001)
    moved = 0
    for trial in range(trials):
        random = np.random.default_rng((7, trial))
        drawn = np.exp(0.01 * random.standard_normal((6, 3, count)))
        moved += bool(judged(question, blocks_of(figures, drawn), 0.0).moved)
    # 40 are expected; a binomial deviation is 6.
    assert 24 <= moved <= 56


def test_a_change_of_the_smallest_effect_is_excluded_as_rarely_as_asked() -> None:
    question = Question(figures=ONE, wrong=0.001, missed=0.1, blocks=30, only="worse")
    missed = 0
    for trial in range(200):
        drawn = np.exp(0.01 * np.random.default_rng((9, trial)).standard_normal((30, 3, 1)))
        drawn[:, 1] *= 0.98
        answer = judged(question, blocks_of(ONE, drawn), 0.0)
        missed += answer.rows[0].verdict in ("same", "not worse")
    # 20 are expected; a binomial deviation is 4.
    assert 10 <= missed <= 30


def blocks_of(figures: tuple[Figure, ...], drawn: Any) -> list[Block]:
    """Figures (blocks, 3, figures) as blocks of base, head and control."""

    def reported(levels: list[float]) -> dict[Figure, float]:
        return dict(zip(figures, levels, strict=True))

    return [
        (reported(base), reported(head), reported(again)) for base, head, again in drawn.tolist()
    ]


def test_a_control_that_moved_ends_it_though_nothing_is_known_of_head() -> None:
    random = np.random.default_rng(3)
    drawn = np.exp(0.001 * random.standard_normal((20, 3, 1)))
    drawn[:, 1] *= np.exp(0.3 * random.standard_normal((20, 1)))
    drawn[:, 2] *= 0.8
    answer = judged(Question(figures=ONE), blocks_of(ONE, drawn), 0.0)
    assert (answer.rows[0].verdict, len(answer.moved), answer.blocks) == ("undecided", 1, 3)


def test_blocks_beyond_the_answer_are_not_judged() -> None:
    drawn = np.exp(0.01 * np.random.default_rng(4).standard_normal((40, 3, 1)))
    drawn[:, 1] *= 0.9
    whole = judged(Question(figures=ONE), blocks_of(ONE, drawn), 0.0)
    assert whole.rows[0].verdict == "worse"
    assert whole.blocks < 10
    assert judged(Question(figures=ONE), blocks_of(ONE, drawn[: whole.blocks]), 0.0) == whole


def test_a_step_that_fails_after_it_had_figures_is_not_given_up() -> None:
    class Later(SimulatedMachine):
        def measure(self, cell: Any, attempt: int) -> Any:
            drawn = super().measure(cell, attempt)
            failing = cell.revision.label == HEAD and attempt in (2, 3, 4)
            return {} if failing else drawn

    (row,) = ask(ONE, Later(ONE, np.random.default_rng(2), changes={HEAD: -0.1})).rows
    assert row.verdict == "worse"
    assert row.note == f"no value for head in 3 of {row.blocks + 3} blocks"


def test_one_block_is_measured_however_long_the_builds_took() -> None:
    ticks = iter(range(1000))
    question = Question(figures=ONE, seconds=0.0)
    answer = interleave(machine(ONE), PAIR, question, lambda: float(next(ticks)))
    assert answer.blocks == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"smallest_effect": 0.0},
        {"smallest_effect": 1.0},
        {"wrong": 0.0},
        {"wrong": 0.25},
        {"missed": 0.0},
        {"missed": 0.25},
        {"blocks": FIRST_LOOK - 1},
        {"blocks": LARGEST_LIMIT + 1},
        {"seconds": -1.0},
        {"anew": -1},
        {"anew": 2},
    ],
)
def test_a_question_that_nobody_can_answer_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Question(figures=ONE, **wrong)


def test_a_question_may_go_to_its_limits() -> None:
    least: dict[str, Any] = {
        "smallest_effect": 1e-6,
        "wrong": 1e-9,
        "missed": 1e-9,
        "blocks": FIRST_LOOK,
    }
    Question(figures=ONE, **least, seconds=0.0, anew=0)
    most: dict[str, Any] = {
        "smallest_effect": 0.99,
        "wrong": 0.24,
        "missed": 0.24,
        "blocks": LARGEST_LIMIT,
    }
    Question(figures=ONE, **most, anew=1)


def test_of_zero_there_is_no_ratio() -> None:
    zero = (Figure("scan", "stall_s"),)

    class Calm(SimulatedMachine):
        def measure(self, cell: Any, attempt: int) -> Any:
            return dict.fromkeys(super().measure(cell, attempt), 0.0)

    (row,) = ask(zero, Calm(zero, np.random.default_rng(2))).rows
    assert row.verdict == "undecided"
    assert row.note == "zero in 2 of 2 blocks: no ratio can be computed"


def test_a_failed_build_is_reported_before_anything_is_measured() -> None:
    simulated = machine(ONE, dead=[HEAD])
    with pytest.raises(NotBuiltError):
        ask(ONE, simulated)
    assert simulated.runs == []


def test_the_control_is_neither_base_nor_head() -> None:
    base = PAIR.base
    assert Pair(base=base, head=PAIR.head).control.revision.label == CONTROL
    copies = Pair(base=base, head=copy_of(base, 2))
    assert copies.control.revision.label == "17.0#3"
    assert Pair(base=copy_of(base, 2), head=base).control.revision.label == "17.0#3"
    keys = {cell.key for cell in (copies.base, copies.head, copies.control)}
    assert len(keys) == 3


def test_one_worse_figure_confirms_and_all_must_be_excluded_to_reject() -> None:
    figures = simulated_figures(2)

    def verdict(first: float, second: float, **asked: Any) -> str:
        class Two(SimulatedMachine):
            def measure(self, cell: Any, attempt: int) -> Any:
                drawn = super().measure(cell, attempt)
                changes = (first, second) if cell.revision.label == HEAD else (0.0, 0.0)
                return {
                    figure: value * (1.0 + change)
                    for (figure, value), change in zip(drawn.items(), changes, strict=True)
                }

        simulated = Two(figures, np.random.default_rng(3))
        return verdict_of(ask(figures, simulated, only="worse", **asked))

    assert verdict(0.0, 0.0) == "rejected"
    assert verdict(0.0, 0.08) == "rejected"
    assert verdict(0.0, -0.08) == "confirmed"
    assert verdict(0.0, -0.015, blocks=3) == "undecided"


@pytest.mark.parametrize("noise", [0.01, 0.02])
def test_errors_are_rare(noise: float) -> None:
    """The figures themselves are printed by ``python -m benchmarks.confirm``."""
    nothing = confirmed(0.0, Noise(noise), 60, 31)
    large = confirmed(-0.05, Noise(noise), 60, 32)
    assert nothing.verdicts.get("confirmed", 0) <= 1
    assert nothing.verdicts["rejected"] >= 55
    assert large.verdicts["confirmed"] >= 59
    fixed = fixed_runs([Noise(noise)], 0.99, 0.99, 2000, 33)
    assert (nothing.runs + large.runs) / 2 < fixed


def test_two_percent_of_spikes_are_borne() -> None:
    spiked = confirmed(-0.05, Noise(0.01, spikes=0.02, spike=28.8), 40, 34, steps=3)
    assert spiked.verdicts["confirmed"] >= 38
