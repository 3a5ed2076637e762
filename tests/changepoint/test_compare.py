"""Two samples of runs: exact cases, properties, error rates, and input that tries to break it."""

from __future__ import annotations

import json
import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changepoint import Comparison, compare
from changepoint.comparison import rank_interval, run_levels
from changepoint.comparison.verdict import judge
from changepoint.evaluate.comparing import SMALLEST, compared, sampled
from changepoint.evaluate.simulate import NOISES

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize(
    ("effect", "interval", "verdict"),
    [
        (0.0, (-0.019, 0.019), "same"),
        (0.01, (0.005, 0.019), "same"),
        (0.01, (0.005, 0.021), "undecided"),
        (0.0, (-0.02, 0.01), "undecided"),
        (0.03, (0.001, 0.06), "better"),
        (0.03, (0.0, 0.06), "undecided"),
        (-0.03, (-0.05, -0.01), "worse"),
        (-0.02, (-0.03, -0.01), "worse"),
        (math.inf, (math.inf, math.inf), "better"),
        (0.0, (-math.inf, math.inf), "undecided"),
    ],
)
def test_verdicts_at_two_percent(effect: float, interval: Any, verdict: str) -> None:
    assert judge(effect, interval, 0.02, "higher") == verdict
    mirrored = {"better": "worse", "worse": "better"}.get(verdict, verdict)
    assert judge(effect, interval, 0.02, "lower") == mirrored


def test_at_a_smallest_effect_of_zero_nothing_is_the_same() -> None:
    assert compare([5.0] * 9, [5.0] * 9, smallest_effect=0.0).verdict == "undecided"
    assert compare([5.0] * 9, [5.0] * 9, smallest_effect=1e-9).verdict == "same"


@pytest.mark.parametrize(
    ("n", "m", "cut"), [(3, 3, -1), (4, 4, 0), (5, 5, 2), (6, 6, 5), (8, 8, 13), (10, 10, 23)]
)
def test_cuts_are_those_of_the_printed_tables(n: int, m: int, cut: int) -> None:
    # Critical values of U at .05, two-sided (Mann and Whitney 1947, Milton 1964).
    assert rank_interval.cut(n, m, 0.95) == cut


@pytest.mark.parametrize(("n", "m"), [(2, 3), (4, 4), (3, 6)])
def test_cut_by_counting_every_order(n: int, m: int) -> None:
    orders = list(combinations(range(n + m), n))
    u = [sum(sum(y < x for y in set(range(n + m)) - set(c)) for x in c) for c in orders]
    for confidence in (0.5, 0.8, 0.9, 0.95):
        tails = [
            k for k in range(n * m) if np.mean(np.array(u) <= k) <= (1 - confidence) / 2 + 1e-9
        ]
        assert rank_interval.cut(n, m, confidence) == max(tails, default=-1)


def test_the_normal_tail_continues_the_exact_one() -> None:
    for n in (50, 51, 200):
        expected = n * n / 2 - 1.959964 * math.sqrt(n * n * (2 * n + 1) / 12) - 0.5
        assert rank_interval.cut(n, n, 0.95) == math.floor(expected)


def test_three_runs_a_side_by_hand() -> None:
    got = compare([math.exp(x) for x in (1, 2, 3)], [math.exp(x) for x in (4, 5, 6)],
                  smallest_effect=0.02)  # fmt: skip
    # Means 2 and 5, pooled variance 1, error sqrt(2/3), t of 4 degrees 2.7764.
    reach = 2.7764451 * math.sqrt(2.0 / 3.0)
    assert got.basis == "student"
    assert got.ratio == pytest.approx(math.exp(3.0))
    assert got.ratio_interval == pytest.approx((math.exp(3 - reach), math.exp(3 + reach)))
    assert (got.base.level, got.base.runs) == (pytest.approx(math.exp(2.0)), 3)


def test_four_runs_a_side_by_hand() -> None:
    got = compare([100, 101, 102, 103], [110, 111, 112, 113], smallest_effect=0.02)
    assert got.basis == "ranks"
    # 4 x 4 cuts nothing: all 16 ratios are in the interval.
    assert got.ratio_interval == pytest.approx((110 / 103, 113 / 100))
    assert got.verdict == "better"
    assert compare([100, 101, 102, 103], [110, 111, 112, 113], smallest_effect=0.02,
                   better="lower").verdict == "worse"  # fmt: skip


def test_one_spoilt_run_of_five_leaves_the_verdict() -> None:
    base, head = [100.0, 100.4, 99.7, 100.1, 100.2], [94.9, 95.3, 95.0, 95.2, 94.8]
    clean = compare(base, head, smallest_effect=0.02)
    for i in range(5):
        spoilt = head.copy()
        spoilt[i] *= 0.6
        got = compare(base, spoilt, smallest_effect=0.02)
        assert (got.verdict, clean.verdict) == ("worse", "worse")
        assert got.effect == pytest.approx(clean.effect, abs=0.003)


def test_stalls_within_a_run_do_not_move_it() -> None:
    random = np.random.default_rng(8)
    samples = random.normal(100, 1, (4, 60))
    stalled = samples.copy()
    stalled[:, 10:15] = 0.0
    clean, got = (run_levels.level(s[0]) for s in (samples, stalled))
    assert got == pytest.approx(clean, abs=0.3)
    assert compare(samples, stalled, smallest_effect=0.02).verdict == "same"


def test_runs_that_agree_by_luck_know_no_more_than_their_samples() -> None:
    random = np.random.default_rng(2)
    samples = random.normal(0, 10, 64)
    one = (100 + samples - samples.mean()).tolist()
    got = compare([one] * 5, [one] * 5, smallest_effect=0.02)
    assert got.base.spread == 0.0
    relative = run_levels.standard_error(np.array(one)) / run_levels.level(np.array(one))
    assert 0.005 < relative < 0.02  # 10 / sqrt(64) in a hundred is .0125
    reach = 1.959964 * relative * math.sqrt(2 / 5)
    assert got.effect_interval == pytest.approx((math.expm1(-reach), math.expm1(reach)))


def test_standard_error_sees_autocorrelation() -> None:
    random = np.random.default_rng(5)
    fresh, related = [], []
    noise = np.zeros(0)
    for _ in range(200):
        noise = random.normal(size=400)
        fresh.append(run_levels.standard_error(noise))
        walk = noise.copy()
        for i in range(1, 400):
            walk[i] = 0.7 * walk[i - 1] + math.sqrt(0.51) * noise[i]
        related.append(run_levels.standard_error(walk))
    assert np.sqrt(np.mean(np.square(fresh))) == pytest.approx(1 / 20, rel=0.1)
    # The error of the mean of an AR(.7) is sqrt(1.7 / .3) as large.
    assert np.sqrt(np.mean(np.square(related))) == pytest.approx(2.38 / 20, rel=0.2)
    assert run_levels.standard_error(noise[:15]) == 0.0


def test_a_single_run_borrows_the_noise_of_the_other_side() -> None:
    got = compare([100, 101, 99, 100, 102, 98], [90], smallest_effect=0.02)
    assert (got.basis, got.verdict, got.head.spread) == ("student", "worse", 0.0)
    alone = compare([100], [50], smallest_effect=0.02)
    assert (alone.basis, alone.verdict) == ("none", "undecided")
    assert alone.effect_interval == (-1.0, math.inf)


@pytest.mark.parametrize(
    ("base", "head", "effect", "interval"),
    [
        ([0, 0, 0, 0], [0, 0, 0, 0], 0.0, (0.0, 0.0)),
        ([0, 0, 0, 0], [2, 3, 4, 5], math.inf, (math.inf, math.inf)),
        ([0, 0, 0, 0], [-2, 3, 4, 5], math.inf, (-math.inf, math.inf)),
        ([4, 4, 4, 4], [0, 0, 0, 0], -1.0, (-1.0, -1.0)),
        ([-2] * 4, [-3] * 4, -0.5, (-0.5, -0.5)),
        ([-2] * 4, [-1] * 4, 0.5, (0.5, 0.5)),
        ([-1] * 4, [1] * 4, 2.0, (2.0, 2.0)),
        ([0], [3], math.inf, (-math.inf, math.inf)),
    ],
)
def test_levels_at_and_below_zero(base: Any, head: Any, effect: float, interval: Any) -> None:
    got = compare(base, head, smallest_effect=0.02)
    assert got.effect == pytest.approx(effect)
    assert got.effect_interval == pytest.approx(interval)
    assert Comparison.from_json(got.to_json()) == got


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1.0, 1e150, 1e297])
def test_magnitudes(scale: float) -> None:
    base, head = np.array([100.0, 101, 99, 100]), np.array([90.0, 91, 89, 90])
    got = compare(base * scale, head * scale, smallest_effect=0.02)
    assert got.effect == pytest.approx(-0.1)
    assert got.base.level == pytest.approx(100 * scale)


@pytest.mark.parametrize(
    ("base", "head", "options", "message"),
    [
        ([], [1.0], {}, "base has no measured run"),
        ([1.0], [], {}, "head has no measured run"),
        ([1.0], [None, [math.nan, None]], {}, "head has no measured run"),
        ([1.0, math.inf], [1.0], {}, "base, run 1 .*inf"),
        ([1.0], [[1.0, -math.inf]], {}, "head, run 0 .*inf"),
        ([1e301], [1.0], {}, "within"),
        (["x"], [1.0], {}, "base, run 0"),
        ([[[1.0]]], [1.0], {}, "base, run 0"),
        (3.0, [1.0], {}, "base must be a list"),
        ("12", [1.0], {}, "base must be a list"),
        ([1.0], {"a": 1}, {}, "head must be a list"),
        ([1.0] * 2001, [1.0], {}, "more than the maximum of 2000"),
        ([1.0], [1.0], {"smallest_effect": -0.1}, "smallest_effect"),
        ([1.0], [1.0], {"smallest_effect": math.nan}, "smallest_effect"),
        ([1.0], [1.0], {"better": "up"}, "better"),
        ([1.0], [1.0], {"confidence": 1.0}, "confidence"),
    ],
)
def test_refusals_are_one_sentence(base: Any, head: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        compare(base, head, **{"smallest_effect": 0.02, **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("change", [{"verdict": "maybe"}, {"base": None}, {"effect_interval": 1}])
def test_a_tree_that_is_no_comparison(change: Any) -> None:
    tree = json.loads(compare([1.0, 2.0], [1.0], smallest_effect=0.1).to_json())
    with pytest.raises(ValueError, match="the saved comparison is invalid"):
        Comparison.from_dict({**tree, **change})


figure = st.one_of(st.floats(-1e300, 1e300), st.integers(-3, 3).map(float), st.none())
run = st.one_of(figure, st.lists(figure, max_size=25))


@settings(max_examples=200, deadline=None)
@given(st.lists(run, min_size=1, max_size=8), st.lists(run, min_size=1, max_size=8))
def test_any_input_gives_a_sound_comparison(base: Any, head: Any) -> None:
    try:
        got = compare(base, head, smallest_effect=0.02)
    except ValueError as error:
        assert "no measured run" in str(error)  # noqa: PT017
        return
    low, high = got.effect_interval
    assert low <= got.effect <= high
    assert Comparison.from_json(got.to_json()) == got
    assert compare(base, head, smallest_effect=0.02) == got
    opposite = compare(base, head, smallest_effect=0.02, better="lower").verdict
    assert opposite == {"better": "worse", "worse": "better"}.get(got.verdict, got.verdict)


levels = st.lists(st.floats(90.0, 110.0), min_size=1, max_size=8)


@given(levels, levels, st.floats(1e-3, 1e3))
def test_unit_and_order_change_nothing_and_sides_mirror(
    base: list[float], head: list[float], unit: float
) -> None:
    got = compare(base, head, smallest_effect=0.0)
    scaled = compare([x * unit for x in base], [x * unit for x in head[::-1]], smallest_effect=0.0)
    assert scaled.ratio == pytest.approx(got.ratio)
    mirrored = compare(head, base, smallest_effect=0.0)
    assert mirrored.ratio == pytest.approx(1.0 / got.ratio)
    if got.basis != "none":
        # Scaling by what is no power of two may break ties, and with them the quantum.
        if len({*base, *head}) == len(base) + len(head):
            assert scaled.ratio_interval == pytest.approx(got.ratio_interval, rel=1e-6)
        inverse = tuple(1.0 / x for x in got.ratio_interval[::-1])
        assert mirrored.ratio_interval == pytest.approx(inverse, rel=1e-6)


@pytest.mark.parametrize("kind", ["gauss", "t3", "bimodal", "spikes", "quantised", "coarse"])
@pytest.mark.parametrize("sides", [(3, 3), (5, 5), (3, 10)])
def test_coverage_and_errors(kind: str, sides: tuple[int, int]) -> None:
    none = compared(NOISES[kind], sides, 0.0, 300, seed=91)
    loss = compared(NOISES[kind], sides, -2 * SMALLEST, 300, seed=92)
    # 95 % must be inside the confidence limits of what was measured; more is allowed.
    assert none.covered.limits()[1] >= 0.95
    # Three equal coarse runs do not show what they are rounded to.
    if (kind, sides) != ("coarse", (3, 3)):
        assert loss.covered.limits()[1] >= 0.95
    # At a true effect of none, at most 5 % are called changed; of a loss, better or same 2.5 %.
    changed = none.verdicts["better"].hits + none.verdicts["worse"].hits
    assert changed <= 25
    assert loss.verdicts["better"].hits + loss.verdicts["same"].hits <= 15


def test_power_is_there() -> None:
    loss = compared(NOISES["gauss"], (5, 5), -2 * SMALLEST, 100, seed=93)
    none = compared(NOISES["gauss"], (5, 5), 0.0, 100, seed=94)
    assert loss.verdicts["worse"].hits >= 98
    assert none.verdicts["same"].hits >= 95


def test_samples_are_not_runs() -> None:
    ours, naive = sampled(3, 60, 0.8, 1.0, 200, seed=95)
    assert ours.limits()[1] >= 0.95
    assert naive.value < 0.8
