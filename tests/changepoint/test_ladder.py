"""Ladders of single values, by the noise of the table that they belong to."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from pathlib import Path

import numpy as np
import pytest

from changepoint import LONGEST_LADDER, SharedNoise, detect, shared_noise
from changepoint.detection import ladder
from changepoint.detection.energy import MIN_VALUES
from changepoint.evaluate.ladders import false_rows, flagged, published_table, stepped_rows
from changepoint.evaluate.simulate import NOISES
from changepoint.series import Floats

RELEASES = 14


def table(rows: int = 40, seed: int = 1, sigma: float = 0.01) -> Floats:
    """Return an unchanged table, (rows, releases)."""
    random = np.random.default_rng(seed)
    return np.asarray(1000.0 * np.exp(sigma * random.normal(size=(rows, RELEASES))))


def staircase() -> Floats:
    """Return three losses of 5 %, one after the other."""
    return np.asarray(0.95 ** (np.arange(RELEASES)[:, None] >= (4, 8, 11)).sum(axis=1))


def test_a_row_that_loses_three_times_shows_all_of_it() -> None:
    rows = list(table())
    rows[7] = rows[7] * staircase()
    noises = shared_noise(rows)
    found = [
        [change.index for change in detect(row, noise=noise).changes]
        for row, noise in zip(rows, noises, strict=True)
    ]
    assert found[7] == [4, 8, 11]
    assert not any(found[:7] + found[8:])


@pytest.mark.parametrize("name", ["gauss", "t3", "bimodal", "spikes", "quantised"])
def test_noise_of_any_shape_is_no_change(name: str) -> None:
    rate = false_rows(NOISES[name], RELEASES, 20, seed=70_001)
    assert rate.hits <= 0.01 * rate.trials, rate


def test_losses_are_found_in_most_rows() -> None:
    assert stepped_rows(NOISES["gauss"], -0.1, 5, seed=70_002).value >= 0.95
    assert stepped_rows(NOISES["t3"], -0.1, 5, seed=70_003).value >= 0.95


def test_values_in_random_order_are_no_change() -> None:
    random = np.random.default_rng(5)
    rows = table() * staircase()
    assert all(flagged(list(rows)))
    shuffled = [random.permutation(row) for _ in range(10) for row in rows]
    assert sum(map(bool, flagged(shuffled))) <= 4


def test_the_segmentation_is_the_best_of_all() -> None:
    random = np.random.default_rng(2)
    for _ in range(20):
        values = random.normal(size=9).cumsum()
        found = ladder._segmented(values, 0.7).tolist()
        inner = [
            places
            for count in range(4)
            for places in combinations(range(2, 8), count)
            if all(b - a >= MIN_VALUES for a, b in pairwise(places))
        ]

        def cost(edges: list[int], values: Floats = values) -> float:
            parts = [values[a:b] for a, b in pairwise(edges)]
            return sum(float(np.sum((part - part.mean()) ** 2)) + 0.7 for part in parts)

        best = min(([0, *places, 9] for places in inner), key=cost)
        assert cost(found) == pytest.approx(cost(best))


def test_the_order_is_judged_as_by_all_orders() -> None:
    values = np.array([1.0, 1.1, 1.05, 2.0, 2.2, 1.9, 2.1])
    given = np.sum(np.abs(np.diff(values)))
    sums = [np.sum(np.abs(np.diff(order))) for order in permutations(values)]
    exact = np.mean(np.array(sums) <= given * (1.0 + 1e-9))
    assert ladder.order_pvalue(values, 50_000, 1) == pytest.approx(exact, rel=0.1)


def test_the_noise_of_a_row_is_between_its_own_and_that_of_all() -> None:
    rows = [*table(seed=3), *table(1, seed=4, sigma=0.05)]
    noises = shared_noise(rows)
    assert all(noise is not None for noise in noises)
    scales = [noise.scale for noise in noises if noise is not None]
    assert np.median(scales[:-1]) == pytest.approx(0.01, rel=0.15)
    assert 0.011 < scales[-1] < 0.05


def test_rows_whose_noise_differs_share_less() -> None:
    equal = shared_noise(list(table(seed=6)))[0]
    factors = 10.0 ** np.linspace(-1.0, 1.0, 40)
    unequal = shared_noise(list(table(seed=6) ** factors[:, None]))[0]
    assert equal is not None
    assert unequal is not None
    assert equal.degrees > 2.0 * unequal.degrees


def test_a_row_alone_has_its_own_noise() -> None:
    (noise,) = shared_noise([table(1)[0]])
    assert noise is not None
    assert noise.degrees == pytest.approx(ladder.EFFICIENCY * (RELEASES - 1))


def test_rows_without_a_logarithm_take_no_part() -> None:
    rows: list[list[float | None]] = [[1.0, 0.0, 2.0, 1.0], [1.0, None, 1.1, 1.0], [1.0]]
    first, second, third = shared_noise(rows)
    assert first is None
    assert second is not None
    assert third is not None
    assert third.scale == second.scale
    assert shared_noise([[0.0]]) == [None]
    assert shared_noise([]) == []


def test_a_position_that_was_measured_twice_counts_once() -> None:
    values = 100.0 * staircase()
    noise = SharedNoise(0.003, 30.0)
    twice = np.insert(values, 6, 1.02 * values[6])
    positions = np.insert(np.arange(RELEASES), 6, 6)
    found = detect(twice, positions=positions, noise=noise).changes
    assert [change.position for change in found] == [4, 8, 11]


def test_a_long_series_is_searched_as_without_noise() -> None:
    values = 100.0 * np.exp(0.01 * np.random.default_rng(8).normal(size=LONGEST_LADDER + 1))
    assert detect(values, noise=SharedNoise(1e-6, 30.0)) == detect(values)


@pytest.mark.parametrize("positions", [14, 25])
def test_replicates_are_searched_as_without_noise(positions: int) -> None:
    random = np.random.default_rng(10)
    values = 100.0 * np.exp(0.02 * random.normal(size=3 * positions))
    values[-3:] *= 0.8
    places = np.repeat(np.arange(positions), 3)
    found = detect(values, positions=places, noise=SharedNoise(0.02, 30.0))
    assert found == detect(values, positions=places)
    assert found.changes[-1].position == positions - 1, "the newest night"


@pytest.mark.parametrize("releases", [10, 14, 20, 30])
def test_the_detectable_step_is_found_in_four_of_five(releases: int) -> None:
    random = np.random.default_rng(releases)
    noise = SharedNoise(0.01, 30.0)
    found = 0
    for _ in range(200):
        values = 1000.0 * np.exp(noise.scale * random.normal(size=releases))
        values[releases // 2 :] *= 1.0 - detect(values, noise=noise).detectable_effect
        found += bool(detect(values, noise=noise).changes)
    assert 0.7 <= found / 200 <= 0.97


def test_a_ladder_that_is_too_short_promises_nothing() -> None:
    assert detect([100.0, 101.0] * 4, noise=SharedNoise(0.01, 30.0)).detectable_effect == np.inf


def test_published_tables_are_read_and_shuffled(tmp_path: Path) -> None:
    rows = table(20) * staircase()
    lines = [",".join([f"step-{n}", *map(repr, row.tolist())]) for n, row in enumerate(rows)]
    (tmp_path / "made.csv").write_text("\n".join([*lines, "short,1,2", "gap,1,,3"]))
    (tmp_path / "small.csv").write_text("a,1,2,3\n")
    *_, line = published_table(tmp_path, seed=1)
    name, count, releases, changed, *_ = (part.strip() for part in line.strip("|").split("|"))
    assert (name, count, releases, changed) == ("made", "20", str(RELEASES), "20")
