"""The compiled statistic against its definition."""

from __future__ import annotations

from itertools import permutations
from math import factorial

import numpy as np
import pytest

from changepoint.detection import energy
from changepoint.series import TIE, Floats


def q(x: Floats, y: Floats) -> float:
    n, m = len(x), len(y)

    def mean(a: Floats, b: Floats) -> float:
        return float(np.abs(a[:, None] - b[None, :]).mean())

    return n * m / (n + m) * (2 * mean(x, y) - mean(x, x) - mean(y, y))


@pytest.mark.parametrize("seed", range(5))
def test_maximum_is_the_largest_q_of_the_definition(seed: int) -> None:
    random = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(random.integers(1, 4, 6))))
    values = random.normal(size=offsets[-1])
    expected = {
        (tau, kappa): q(values[: offsets[tau]], values[offsets[tau] : offsets[kappa]])
        for kappa in range(2, 7)
        for tau in range(1, kappa)
        if offsets[tau] >= 2 and offsets[kappa] - offsets[tau] >= 2
    }
    best, tau, kappa = energy.maximum(values, offsets)
    assert best == pytest.approx(max(expected.values()))
    assert best == pytest.approx(expected[tau, kappa])


def test_too_short_to_split() -> None:
    assert energy.maximum(np.array([1.0, 2.0, 3.0]), np.arange(4)) == (0.0, 0, 0)


def test_pvalue_of_two_positions_of_three_is_one_tenth() -> None:
    values = np.array([1.0, 1.1, 1.2, 9.0, 9.1, 9.2])
    offsets = np.array([0, 3, 6])
    observed = energy.maximum(values, offsets)[0]
    # 2 of the 20 ways to choose the first three keep the values apart.
    assert energy.permutation_pvalue(values, offsets, observed, 19_999, 1.0, 0) == pytest.approx(
        0.1, abs=0.01
    )


def test_pvalues_are_uniform_when_nothing_changed() -> None:
    random = np.random.default_rng(4)
    offsets = np.arange(0, 31, 3)
    pvalues = []
    for _ in range(300):
        values = random.normal(size=30)
        observed = energy.maximum(values, offsets)[0]
        pvalues.append(energy.permutation_pvalue(values, offsets, observed, 99, 1.0, 0))
    # 75 expected, deviation 7.5.
    assert 50 <= np.sum(np.array(pvalues) <= 0.25) <= 100


def test_gives_up_once_the_limit_is_out_of_reach() -> None:
    values = np.random.default_rng(1).normal(size=30)
    assert energy.permutation_pvalue(values, np.arange(31), 0.0, 999, 0.01, 0) == 1.0


@pytest.mark.parametrize("sizes", [(2, 2, 2), (1, 1, 1, 1, 1, 1), (1, 3, 2)])
def test_the_exact_pvalue_counts_every_arrangement(sizes: tuple[int, ...]) -> None:
    values = np.random.default_rng(5).normal(size=sum(sizes))
    values[sizes[0] :] += 1.0
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    observed = energy.maximum(values, offsets)[0]
    orders = [np.array(order) for order in permutations(values.tolist())]
    share = np.mean([energy.maximum(order, offsets)[0] >= observed * TIE for order in orders])
    assert energy.exact_pvalue(values, offsets, observed) == pytest.approx(float(share))
    repeated = np.prod([factorial(size) for size in sizes])
    assert energy.arrangements(offsets) == pytest.approx(len(orders) / repeated)
