"""Looking after every block: the martingale, its interval, the state, and the errors."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changepoint import Sequential, SequentialDecision
from changepoint.comparison import sign_bets
from changepoint.evaluate.comparing import SMALLEST, ever_missed, stopped
from changepoint.evaluate.simulate import NOISES

pytestmark = pytest.mark.filterwarnings("error")


def fed(pairs: Any, **options: Any) -> Sequential:
    comparison = Sequential(**{"smallest_effect": 0.02, "limit": 40, **options})
    for base, head in pairs:
        if comparison.decision.done:
            break
        comparison.add(base, head)
    return comparison


def test_the_bets_are_fair() -> None:
    # The mean over all signs of what is bet on is 1 at every length: a martingale.
    sizes = np.array([0.3, 2.0, 0.01, 50.0, 1.0, 0.7])
    scales = np.array([1.0, 0.1, 3.0, 1.0, 2.0, 0.5])
    for length in range(1, 7):
        wealth = [
            math.exp(sign_bets.log_wealth(7.0 + np.array(s) * sizes[:length], scales[:length], 7.0))
            for s in product([-1, 1], repeat=length)
        ]
        assert np.mean(wealth) == pytest.approx(1.0)


def test_one_bet_by_hand() -> None:
    expected = np.mean([1 + math.tanh(r * 0.5) for r in sign_bets.RATES])
    got = sign_bets.log_wealth(np.array([3.0]), np.array([2.0]), 2.0)
    assert got == pytest.approx(math.log(expected))


def test_scales_come_from_the_past() -> None:
    assert sign_bets.next_scale(np.array([1.0, 9.0]), 0.5) == 0.5
    assert sign_bets.next_scale(np.array([1.0, 2.0, 9.0]), 0.5) == pytest.approx(1.4826022)
    assert sign_bets.next_scale(np.array([4.0] * 5), 0.5) == pytest.approx(0.05)


def test_the_interval_is_where_the_wealth_is_small() -> None:
    values = np.random.default_rng(6).normal(1.0, 1.0, 30)
    scales = np.array([sign_bets.next_scale(values[:i], 1.0) for i in range(30)])
    low, high = sign_bets.interval(values, scales, 0.95)
    assert low < 1.0 < high
    assert sign_bets.log_wealth(values, scales, low) == pytest.approx(math.log(40))
    assert sign_bets.log_wealth(-values, scales, -high) == pytest.approx(math.log(40))


def test_six_clear_pairs_decide_and_five_cannot() -> None:
    five = fed([(100.0, 90.0 + 0.01 * i) for i in range(5)])
    assert (five.decision.verdict, five.decision.done) == ("undecided", False)
    assert five.decision.effect_interval == (-1.0, math.inf)
    six = five.add(100.0, 90.0)
    assert (six.verdict, six.done, six.blocks) == ("worse", True, 6)
    low, high = six.effect_interval
    assert low < six.effect < high < 0.0
    assert six.effect == pytest.approx(-0.1, abs=1e-3)


def test_better_is_the_callers() -> None:
    pairs = [(100.0, 110.0 + 0.01 * i) for i in range(9)]
    assert fed(pairs).decision.verdict == "better"
    assert fed(pairs, better="lower").decision.verdict == "worse"


def test_equal_pairs_are_the_same() -> None:
    got = fed([(100.0, 100.0)] * 20).decision
    assert (got.verdict, got.effect, got.blocks) == ("same", 0.0, 7)
    never = fed([(100.0, 100.0)] * 20, smallest_effect=0.0, limit=9).decision
    assert (never.blocks, never.effect, never.verdict, never.done) == (9, 0.0, "undecided", True)


def test_a_block_cancels_drift() -> None:
    # The machine gets 1 % slower with every run; base head head base.
    pace = [0.99**i for i in range(4 * 12)]
    blocks = [((pace[i], pace[i + 3]), (pace[i + 1], pace[i + 2])) for i in range(0, 48, 4)]
    assert fed(blocks).decision.verdict == "same"
    pairs = [(pace[i], pace[i + 1]) for i in range(0, 48, 2)]
    assert fed(pairs).decision.effect == pytest.approx(-0.01)


def test_the_limit_ends_it() -> None:
    random = np.random.default_rng(3)
    got = fed(random.uniform(50, 150, (12, 2)).tolist(), limit=12)
    assert (got.decision.verdict, got.decision.done) == ("undecided", True)
    with pytest.raises(ValueError, match="ended after 12 blocks"):
        got.add(1.0, 1.0)


def test_a_spike_delays_but_does_not_turn_the_verdict() -> None:
    random = np.random.default_rng(4)
    pairs = np.column_stack((random.normal(100, 1, 40), random.normal(94, 1, 40)))
    pairs[2, 0] *= 0.5
    got = fed(pairs.tolist()).decision
    assert got.verdict == "worse"
    assert got.effect == pytest.approx(-0.06, abs=0.02)
    assert got.blocks <= 15


positive = st.floats(1e-300, 1e300)
block = st.tuples(
    st.one_of(positive, st.lists(positive, min_size=1, max_size=3)),
    st.one_of(positive, st.floats(90, 110)),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(block, max_size=14), st.integers(0, 14), st.sampled_from([0.0, 0.02, 5.0]))
def test_a_copy_goes_on_like_the_original(blocks: Any, at: int, smallest: float) -> None:
    whole = fed(blocks, smallest_effect=smallest, limit=12)
    part = fed(blocks[:at], smallest_effect=smallest, limit=12)
    copy = Sequential.from_json(part.to_json())
    assert copy.decision == part.decision
    for base, head in blocks[at:]:
        if copy.decision.done:
            break
        copy.add(base, head)
    assert copy.decision == whole.decision
    assert copy.to_json() == whole.to_json()
    assert SequentialDecision.from_json(whole.decision.to_json()) == whole.decision
    low, high = whole.decision.effect_interval
    assert low <= whole.decision.effect <= high


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"limit": 2.5}, "limit"),
        ({"limit": True}, "limit"),
        ({"smallest_effect": math.inf}, "smallest_effect"),
        ({"better": "up"}, "better"),
        ({"confidence": 0.4}, "confidence"),
    ],
)
def test_refused_options(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fed([], **options)


@pytest.mark.parametrize("level", [0.0, -1.0, math.inf, math.nan, None, [], [1.0, 0.0], "x", 1e301])
def test_refused_levels_leave_the_state(level: Any) -> None:
    comparison = fed([(1.0, 2.0)])
    before = comparison.to_json()
    for base, head in ((level, 1.0), (1.0, level)):
        with pytest.raises(ValueError, match=r"base|head") as caught:
            comparison.add(base, head)
        assert "\n" not in str(caught.value)
    assert comparison.to_json() == before


@pytest.mark.parametrize(
    "change", [{"limit": "a"}, {"differences": ["x"]}, {"differences": [0.0] * 50}, {"better": 1}]
)
def test_a_tree_that_is_no_comparison(change: Any) -> None:
    tree = json.loads(fed([(1.0, 2.0)]).to_json())
    with pytest.raises(ValueError, match="the saved state of the sequential comparison is invalid"):
        Sequential.from_dict({**tree, **change})
    with pytest.raises(ValueError, match="the saved decision is invalid"):
        SequentialDecision.from_dict({"blocks": 1})


@pytest.mark.parametrize("kind", ["gauss", "t3", "bimodal", "spikes", "quantised"])
def test_looking_sixty_times_keeps_the_error(kind: str) -> None:
    missed = ever_missed(NOISES[kind], 200, seed=81)
    assert missed.limits()[0] <= 0.05


@pytest.mark.parametrize("kind", ["gauss", "t3", "spikes"])
def test_verdicts(kind: str) -> None:
    none = stopped(NOISES[kind], 0.0, 60, seed=82)
    assert none.verdicts["better"].hits + none.verdicts["worse"].hits <= 6
    assert none.verdicts["same"].hits >= 52
    loss = stopped(NOISES[kind], -2 * SMALLEST, 60, seed=83)
    assert loss.verdicts["worse"].hits >= 58
    assert loss.median <= 8
