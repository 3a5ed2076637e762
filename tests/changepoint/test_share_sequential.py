"""How often two sides reach a threshold: the bets are fair, and what they show and refute."""

from __future__ import annotations

from itertools import product
from math import comb, exp

import numpy as np
import pytest

from changepoint import ShareSequential
from changepoint.comparison.share_sequential import ALTERNATIVES, log_ratio

pytestmark = pytest.mark.filterwarnings("error")


def sequential(confidence: float = 0.99, limit: int = 40) -> ShareSequential:
    return ShareSequential(threshold=0.95, limit=limit, confidence=confidence)


@pytest.mark.parametrize("runs", [(2, 1), (1, 1), (3, 2)])
@pytest.mark.parametrize("shares", [*ALTERNATIVES, *(pair[::-1] for pair in ALTERNATIVES)])
def test_nobody_gains_by_bets_while_both_sides_are_alike(
    runs: tuple[int, int], shares: tuple[float, float]
) -> None:
    for share in np.linspace(0.01, 0.99, 15).tolist():
        mean = 0.0
        for good in product(*(range(count + 1) for count in runs)):
            chance = 1.0
            for got, count in zip(good, runs, strict=True):
                chance *= comb(count, got) * share**got * (1.0 - share) ** (count - got)
            won = np.array(good, dtype=np.float64)
            mean += chance * exp(log_ratio(won, np.array(runs) - won, np.array(shares)))
        assert mean <= 1.0 + 1e-12


def test_one_bet_by_hand() -> None:
    # Both runs of base were good, that of head was not.
    got = log_ratio(np.array([2.0, 0.0]), np.array([0.0, 1.0]), np.array([0.75, 0.25]))
    mean = (2 * 0.75 + 0.25) / 3
    assert exp(got) == pytest.approx((0.75 / mean) ** 2 * 0.75 / (1 - mean))


@pytest.mark.parametrize(("base", "head", "verdict"), [(1.0, 0.5, "worse"), (0.5, 1.0, "better")])
def test_four_clear_blocks_show_a_difference(base: float, head: float, verdict: str) -> None:
    compared = sequential()
    for _ in range(3):
        assert compared.add([base, base], head).verdict == "undecided"
    decision = compared.add([base, base], head)
    assert (decision.verdict, decision.done, decision.blocks) == (verdict, True, 4)
    assert decision.effect == (-1.0 if verdict == "worse" else 1.0)
    assert decision.effect_interval == ((-1.0, 0.0) if verdict == "worse" else (0.0, 1.0))


@pytest.mark.parametrize("level", [1.0, 0.5, 0.0])
def test_what_is_alike_on_both_sides_is_the_same(level: float) -> None:
    compared = sequential(confidence=0.9)
    while not compared.decision.done:
        compared.add([level, level], level)
    decision = compared.decision
    assert (decision.verdict, decision.blocks) == ("same", 6)
    assert (decision.effect, decision.effect_interval) == (0.0, (-0.5, 0.5))


def test_what_is_open_on_both_sides_ends_with_the_blocks() -> None:
    compared = sequential(limit=10)
    for block in range(10):
        compared.add([1.0, 0.5], float(block % 2))
    assert (compared.decision.verdict, compared.decision.done) == ("undecided", True)
    assert compared.decision.effect_interval == (-1.0, 1.0)


def ended(base: float, head: float, trials: int, confidence: float, wild: float = 0.0) -> list[str]:
    """Verdicts where the runs reach the threshold with these probabilities.

    wild: by how much that of a block is above or below, the same for both sides.
    """
    random = np.random.default_rng(12)
    verdicts: list[str] = []
    for _ in range(trials):
        compared = sequential(confidence)
        while not compared.decision.done:
            shift = wild * random.choice([-1.0, 1.0])
            first = random.random(2) < base + shift
            compared.add(first.astype(float), float(random.random() < head + shift))
        verdicts.append(compared.decision.verdict)
    return verdicts


@pytest.mark.parametrize(("share", "wild"), [(0.5, 0.0), (0.5, 0.45), (0.9, 0.0), (0.2, 0.0)])
def test_no_difference_is_shown_as_rarely_as_was_promised(share: float, wild: float) -> None:
    # Without the smallest effect each way may be shown with .05; 300 trials, 3 deviations.
    verdicts = ended(share, share, 300, 0.9, wild)
    assert verdicts.count("worse") <= 26
    assert verdicts.count("better") <= 26


def test_a_difference_is_found_and_seldom_refuted() -> None:
    clear = ended(0.95, 0.1, 200, 0.99)
    assert clear.count("worse") >= 196
    # Just the smallest one: to be refuted with .05 at most.
    assert ended(0.75, 0.25, 200, 0.9).count("same") <= 19


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^confidence must be at least 0\.5 and below 1, not 2$"):
        sequential(confidence=2)
