"""Whether head is noisier than base: the statistic, its interval, and the errors of looking."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from changepoint import SpreadSequential
from changepoint.comparison.spending import nominal_levels
from changepoint.comparison.spread_sequential import FIRST_LOOK, louder
from changepoint.detection.dispersion import replicate_deviations
from changepoint.series import Floats

pytestmark = pytest.mark.filterwarnings("error")


def sequential(**changes: object) -> SpreadSequential:
    options = {"smallest_ratio": 1.5, "floor": 0.001, "limit": 40, "confidence": 0.99, **changes}
    return SpreadSequential(**options)  # type: ignore[arg-type]


def drawn(ratio: float, seed: int, blocks: int = 40, noise: float = 0.02) -> tuple[Floats, Floats]:
    """Two runs of base, and one of head, of each block."""
    normal = np.random.default_rng(seed).normal(scale=noise, size=(3, blocks))
    return 100.0 * np.exp(normal[:2].T), 70.0 * np.exp(ratio * normal[2])


def fed(base: Floats, head: Floats, **changes: object) -> SpreadSequential:
    compared = sequential(**changes)
    for first, second in zip(base, head, strict=True):
        if compared.add(first, float(second)).done:
            break
    return compared


def test_the_statistic_is_standardised_over_all_permutations() -> None:
    deviations = np.array([0.1, 0.4, 0.2, 5.0, 0.9, 0.3, 0.25, 1.5, 0.05])
    found = []
    for chosen in combinations(range(9), 3):
        head = np.isin(np.arange(9), chosen)
        found.append(louder(deviations[~head], deviations[head]))
    assert np.mean(found) == pytest.approx(0.0, abs=1e-12)
    assert np.std(found) == pytest.approx(1.0)
    assert louder(np.ones(4), np.ones(3)) == 0.0


def test_nothing_is_said_before_the_first_look() -> None:
    base, head = drawn(50.0, 1, blocks=FIRST_LOOK)
    compared = sequential()
    for first, second in zip(base[:-1], head[:-1], strict=True):
        decision = compared.add(first, float(second))
        assert (decision.effect_interval, decision.verdict) == ((-1.0, math.inf), "undecided")
    assert math.isfinite(compared.add(base[-1], float(head[-1])).effect_interval[0])
    assert compared.decision.effect > 5.0


@pytest.mark.parametrize(("ratio", "verdict"), [(4.0, "worse"), (0.25, "better")])
def test_a_large_ratio_is_shown(ratio: float, verdict: str) -> None:
    decision = fed(*drawn(ratio, 2)).decision
    assert (decision.verdict, decision.done) == (verdict, True)
    low, high = decision.effect_interval
    assert low < ratio - 1.0 < high
    assert low > 0.0 or high < 0.0
    assert decision.blocks < 40


def test_the_interval_is_what_head_can_be_divided_by() -> None:
    base, head = drawn(1.0, 3, blocks=25)
    decision = fed(base, head).decision
    assert decision.blocks == 25
    offsets = np.array([0, 50]), np.array([0, 25])
    quiet = replicate_deviations(np.log(base.ravel()), offsets[0])[0]
    loud = replicate_deviations(np.log(head), offsets[1])[0]
    boundary = norm.isf(nominal_levels(40, FIRST_LOOK, 0.005)[25 - FIRST_LOOK])
    low, high = (1.0 + end for end in decision.effect_interval)
    for inside, outside, sign in ((low * 1.01, low * 0.99, 1), (high * 0.99, high * 1.01, -1)):
        # The floor is below all but the very smallest deviations.
        assert sign * louder(quiet, loud / inside) <= boundary + 0.1
        assert sign * louder(quiet, loud / outside) >= boundary - 0.1


def test_levels_do_not_matter_and_noise_below_the_floor_is_alike() -> None:
    base, head = drawn(2.0, 4, blocks=30)
    other = fed(base, 7.0 * head).decision
    assert fed(base, head).decision.effect == pytest.approx(other.effect, rel=1e-6)
    base, head = drawn(9.0, 4, noise=0.001)
    calm = fed(base, head, floor=0.1, confidence=0.9).decision
    assert (calm.verdict, calm.effect) == ("same", pytest.approx(0.0, abs=1e-3))
    assert calm.blocks < 20


def test_one_spike_is_no_noise() -> None:
    base, head = drawn(1.0, 5, blocks=20)
    calm = fed(base, head).decision
    head[4] *= 0.5
    spiked = fed(base, head).decision
    assert calm.verdict == spiked.verdict == "undecided"
    assert spiked.effect == pytest.approx(calm.effect, abs=0.2)


def wrong(kind: str, trials: int, alpha: float, limit: int = 40) -> tuple[int, int]:
    """How often no difference is shown as one, either way, if one looks after every block."""
    random = np.random.default_rng(9)
    boundaries = norm.isf(nominal_levels(limit, FIRST_LOOK, alpha))
    hits = np.zeros(2, dtype=int)
    for _ in range(trials):
        noise = random.normal(size=(limit, 3))
        if kind == "t3":
            noise = random.standard_t(3, size=(limit, 3))
        elif kind == "coarse":
            noise = np.round(noise)
        elif kind == "moods":  # all three runs of a block are loud, or not
            noise *= random.choice([1.0, 5.0], (limit, 1))
        ever = np.zeros(2, dtype=bool)
        for blocks, boundary in zip(range(FIRST_LOOK, limit + 1), boundaries, strict=True):
            base = replicate_deviations(noise[:blocks, :2].ravel(), np.array([0, 2 * blocks]))[0]
            head = replicate_deviations(noise[:blocks, 2].copy(), np.array([0, blocks]))[0]
            z = louder(base, head)
            ever |= [z > boundary, -z > boundary]
        hits += ever
    return int(hits[0]), int(hits[1])


@pytest.mark.parametrize("kind", ["gauss", "t3", "coarse", "moods"])
def test_looking_after_every_block_errs_in_less_than_one_of_a_hundred(kind: str) -> None:
    # Nominal .005, of which the normal approximation makes .0085 in the worst of these.
    assert max(wrong(kind, 1000, 0.005)) <= 0.01 * 1000 + 2.0 * math.sqrt(1000 * 0.01)


def test_a_ratio_of_three_is_found() -> None:
    verdicts = [fed(*drawn(3.0, seed)).decision.verdict for seed in range(100, 140)]
    assert verdicts.count("worse") >= 38


def test_after_the_limit_it_is_done() -> None:
    compared = sequential(limit=2)
    assert not compared.add([1.0, 2.0], 1.0).done
    assert compared.add([1.0, 2.0], 1.0).done
    with pytest.raises(ValueError, match="has reached its limit of 2 blocks"):
        compared.add(1.0, 1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"limit": 0}, "limit must be a number of blocks up to 200, not 0"),
        ({"limit": 201}, "limit must be a number of blocks up to 200, not 201"),
        ({"confidence": 1.0}, "confidence must be at least 0.5 and below 1, not 1.0"),
        ({"smallest_ratio": 0.5}, "smallest_ratio must be at least 1, not 0.5"),
    ],
)
def test_options_out_of_range_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        sequential(**changes)
    assert str(caught.value) == message


def test_a_level_that_is_none_changes_nothing() -> None:
    compared = sequential()
    with pytest.raises(ValueError, match="head must be above 0"):
        compared.add(1.0, 0.0)
    assert compared.decision.blocks == 0
    base, head = drawn(3.0, 6, blocks=10)
    assert fed(base, head).decision.blocks == 10
