"""Looking after every block by t tests: the boundaries, the intervals, the errors."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student

from changepoint import GroupSequential
from changepoint.comparison.group_sequential import FIRST_LOOK, LARGEST_LIMIT
from changepoint.comparison.spending import nominal_levels, spent
from changepoint.comparison.verdict import Verdict
from changepoint.series import LARGEST_EXPONENT

SMALLEST = 0.02


def sequential(**changes: object) -> GroupSequential:
    options = {"smallest_effect": SMALLEST, "limit": 30, **changes}
    return GroupSequential(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("limit", "alpha"), [(10, 0.05), (30, 0.01), (60, 0.005)])
def test_a_path_without_drift_crosses_the_boundaries_as_often_as_was_asked_for(
    limit: int, alpha: float
) -> None:
    levels = np.array(nominal_levels(limit, 3, alpha))
    paths = np.random.default_rng(7).normal(size=(100_000, limit)).cumsum(axis=1)[:, 2:]
    standard = paths / np.sqrt(np.arange(3, limit + 1))
    crossed = (norm.sf(standard) < levels).any(axis=1).mean()
    assert crossed == pytest.approx(alpha, rel=5.0 / math.sqrt(100_000 * alpha))


def test_a_single_look_has_the_whole_error() -> None:
    assert nominal_levels(5, 5, 0.025) == pytest.approx([0.025], rel=1e-3)
    assert (spent(0.0), spent(1.0)) == (0.0, 1.0)


def test_early_looks_are_stricter_than_all_of_the_error() -> None:
    levels = nominal_levels(30, 3, 0.025)
    assert len(levels) == 28
    assert all(0.0 < level < 0.025 for level in levels)
    assert sum(levels) > 0.025, "the looks are dependent, so that their errors do not add up"


def test_the_interval_is_student_s_at_the_level_of_the_look() -> None:
    differences = [-0.06, -0.05, -0.055, -0.045]
    compared = sequential()
    for difference in differences:
        compared.add(1.0, math.exp(difference))
    decision = compared.decision
    level = nominal_levels(30, 3, 0.025)[1]
    error = np.std(differences, ddof=1) / 2.0
    reach = float(student.isf(level, 3)) * error
    assert decision.blocks == 4
    assert decision.effect == pytest.approx(math.expm1(-0.0525))
    assert decision.effect_interval == pytest.approx(
        (math.expm1(-0.0525 - reach), math.expm1(-0.0525 + reach))
    )
    assert (decision.verdict, decision.done) == ("worse", True)


def test_nothing_is_said_before_the_first_look() -> None:
    compared = sequential()
    for _ in range(FIRST_LOOK - 1):
        decision = compared.add(100.0, 50.0)
        assert decision.effect_interval == (-1.0, math.inf)
        assert decision.verdict == "undecided"
    assert compared.add(100.0, 50.0).verdict == "worse"


def test_a_block_may_have_several_runs_of_a_side() -> None:
    compared = sequential()
    for _ in range(3):
        compared.add([90.0, 110.0], 100.0)
    assert compared.decision.effect == pytest.approx(100.0 / math.sqrt(9900.0) - 1.0)


@pytest.mark.parametrize(("better", "verdict"), [("higher", "better"), ("lower", "worse")])
def test_which_direction_is_good_is_an_option(better: str, verdict: str) -> None:
    compared = sequential(better=better)
    for head in (1.1, 1.101, 1.099):
        compared.add(1.0, head)
    assert compared.decision.verdict == verdict


def test_equal_blocks_are_no_certainty() -> None:
    compared = sequential(smallest_effect=0.1)
    for _ in range(3):
        compared.add(100.0, 100.0)
    low, high = compared.decision.effect_interval
    assert low < -0.01
    assert high > 0.01


def test_a_spike_is_trimmed_once_there_are_ten_blocks() -> None:
    noise = np.random.default_rng(3).normal(scale=0.005, size=12)
    calm, spiked = sequential(), sequential()
    for at, difference in enumerate(noise):
        calm.add(1.0, math.exp(difference))
        spiked.add(1.0, math.exp(difference - (0.5 if at == 5 else 0.0)))
        if at == 8:
            assert spiked.decision.effect < -0.04
            assert spiked.decision.verdict == "undecided"
    assert spiked.decision.effect == pytest.approx(calm.decision.effect, abs=0.003)
    assert spiked.decision.verdict == calm.decision.verdict == "same"


def test_after_the_limit_it_is_done() -> None:
    compared = sequential(limit=3)
    for head in (0.8, 1.2, 1.0):
        compared.add(1.0, head)
    assert (compared.decision.verdict, compared.decision.done) == ("undecided", True)
    with pytest.raises(ValueError, match=r"has reached its limit of 3 blocks"):
        compared.add(1.0, 1.0)


def test_a_huge_ratio_is_finite() -> None:
    compared = sequential()
    for _ in range(3):
        compared.add(1e-300, 1e300)
    assert compared.decision.effect == math.expm1(LARGEST_EXPONENT)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"limit": 2}, "limit must be a number of blocks from 3 to 200, not 2"),
        ({"limit": LARGEST_LIMIT + 1}, "limit must be a number of blocks from 3 to 200, not 201"),
        ({"limit": 5.0}, "limit must be a number of blocks from 3 to 200, not 5.0"),
        ({"smallest_effect": -0.1}, "smallest_effect must be a fraction of at least 0, not -0.1"),
        ({"confidence": 1.0}, "confidence must be at least 0.5 and below 1, not 1.0"),
        ({"better": "more"}, "better must be higher or lower, not 'more'"),
    ],
)
def test_options_out_of_range_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(message)}$"):
        sequential(**changes)


def test_a_level_that_is_none_changes_nothing() -> None:
    compared = sequential()
    with pytest.raises(ValueError, match="head must be above 0"):
        compared.add(1.0, 0.0)
    assert compared.decision.blocks == 0


level = st.one_of(st.floats(1e-300, 1e300), st.floats(90, 110))
block = st.tuples(st.one_of(level, st.lists(level, min_size=1, max_size=3)), level)


@settings(max_examples=100, deadline=None)
@given(st.lists(block, max_size=14), st.integers(0, 14), st.sampled_from([0.0, 0.02, 5.0]))
def test_a_copy_goes_on_like_the_original(blocks: Any, at: int, smallest: float) -> None:
    whole, part = (sequential(smallest_effect=smallest, limit=14, better="lower") for _ in "12")
    for base, head in blocks:
        whole.add(base, head)
    for base, head in blocks[:at]:
        part.add(base, head)
    copy = GroupSequential.from_json(part.to_json())
    assert copy.decision == part.decision
    for base, head in blocks[at:]:
        copy.add(base, head)
    assert copy.decision == whole.decision
    assert copy.to_json() == whole.to_json()


@pytest.mark.parametrize(
    "change",
    [{"limit": "a"}, {"differences": ["x"]}, {"differences": [0.0] * 50}, {"better": 1}],
)
def test_a_tree_that_is_no_comparison(change: Any) -> None:
    tree = json.loads(sequential().to_json())
    assert GroupSequential.from_dict(tree).to_dict() == tree
    with pytest.raises(ValueError, match="the comparison by t tests is invalid"):
        GroupSequential.from_dict({**tree, **change})
    del tree["confidence"]
    with pytest.raises(ValueError, match="the comparison by t tests is invalid"):
        GroupSequential.from_dict(tree)


def test_wrong_changes_are_as_rare_and_large_ones_found_as_surely_as_promised() -> None:
    random = np.random.default_rng(11)
    cases: list[tuple[float, Verdict, Verdict, float]] = [
        (0.0, "same", "worse", 0.95),
        (-0.05, "worse", "same", 0.99),
    ]
    for effect, right, wrong, least in cases:
        verdicts: list[Verdict] = []
        for _ in range(200):
            compared = sequential(confidence=0.98)
            for base, head in np.exp(random.normal(scale=0.01, size=(30, 2))).tolist():
                if compared.add(base, head * (1.0 + effect)).done:
                    break
            verdicts.append(compared.decision.verdict)
        assert verdicts.count(right) >= least * 200
        assert verdicts.count(wrong) <= 6


def test_the_first_look_may_be_later() -> None:
    comparison = GroupSequential(smallest_effect=0.02, limit=20, first_look=6)
    verdicts = [comparison.add(100.0, 90.0).verdict for _ in range(6)]
    assert verdicts == ["undecided"] * 5 + ["worse"]
    copy = GroupSequential.from_json(comparison.to_json())
    assert copy.to_json() == comparison.to_json()
    with pytest.raises(ValueError, match="first_look must be at least 3"):
        GroupSequential(smallest_effect=0.02, limit=20, first_look=2)
