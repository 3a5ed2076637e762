"""Series that change together: the joint test, its evidence, and input that tries to break it."""

from __future__ import annotations

import json
import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changepoint import Pooled, detect, pooled
from changepoint.detection import joint_test
from changepoint.evaluate.comparing import pooled_rates, shuffle_levels
from changepoint.evaluate.simulate import NOISES, SeriesShape
from changepoint.series import Floats

pytestmark = pytest.mark.filterwarnings("error")


def group(
    positions: int, replicates: int, *, step: float = 0.0, changing: int = 6, seed: int = 1
) -> tuple[dict[str, Floats], list[int]]:
    """Six series of noise 2 %, half of its variance shared, with a step in the middle."""
    random = np.random.default_rng(seed)
    rows = positions * replicates
    noise = math.sqrt(0.5) * (random.normal(size=(rows, 1)) + random.normal(size=(rows, 6)))
    values = 100.0 * (1.0 + 0.02 * noise)
    values[positions // 2 * replicates :, :changing] *= 1.0 + step
    return (
        {f"range={i}": values[:, i] for i in range(6)},
        np.repeat(np.arange(positions), replicates).tolist(),
    )


def best_of_definition(score: Floats) -> tuple[float, float]:
    together, apart = [], []
    for tau in range(2, len(score) - 1):
        n, m = tau, len(score) - tau
        z = (score[tau:].mean(axis=0) - score[:tau].mean(axis=0)) * math.sqrt(n * m / (n + m))
        together.append(abs(z.sum()))
        apart.append((z * z).sum())
    return max(together), max(apart)


def test_maxima_are_those_of_the_definition() -> None:
    score = joint_test.scores(np.random.default_rng(3).normal(size=(12, 4)))
    room = np.zeros((2, 4)), np.zeros((2, 4))
    order = np.random.default_rng(4).permutation(12)
    together, _, apart, _ = joint_test.maxima(score, order, np.arange(13), *room)
    assert (together, apart) == pytest.approx(best_of_definition(score[order]))


def test_the_shuffled_maxima_are_of_all_orders() -> None:
    score = joint_test.scores(np.random.default_rng(5).normal(size=(6, 3)))
    exact = np.array([best_of_definition(score[list(o)]) for o in permutations(range(6))])
    shuffled = joint_test.shuffled_maxima(score, np.arange(7), 20_000, 0)
    for column in range(2):
        for quantile in (0.25, 0.5, 0.9):
            limit = np.quantile(exact[:, column], quantile) + 1e-9
            assert np.mean(shuffled[:, column] <= limit) == pytest.approx(
                np.mean(exact[:, column] <= limit), abs=0.02
            )
    again = joint_test.shuffled_maxima(score, np.arange(7), 100, 0)
    assert np.array_equal(again, shuffled[:100])


def test_the_pvalue_is_uniform_if_nothing_changed() -> None:
    random = np.random.default_rng(6)
    common = random.normal(size=(300, 20, 1))
    pvalues = [
        joint_test.split(joint_test.scores(x), np.arange(21), 399, 0)[0]
        for x in 3.0 * common + random.normal(size=(300, 20, 5))
    ]
    # Correlated by .9; 15 and 60 are expected, deviations 3.8 and 6.9.
    assert 4 <= np.sum(np.array(pvalues) <= 0.05) <= 27
    assert 39 <= np.sum(np.array(pvalues) <= 0.2) <= 81


def test_scores() -> None:
    values = np.array([[1.0, 5.0, math.nan], [9.0, 5.0, math.nan], [2.0, 5.0, math.nan]])
    score = joint_test.scores(values)
    assert score[:, 0] == pytest.approx([-math.sqrt(1.5), math.sqrt(1.5), 0.0])
    assert score[:, 1].tolist() == [0.0, 0.0, 0.0]
    assert np.all(np.isnan(score[:, 2]))


def test_six_see_what_none_sees() -> None:
    seen = 0
    for seed in range(10):
        random = np.random.default_rng(seed)
        values = 100.0 * (1.0 + 0.02 * random.normal(size=(60, 6)))
        values[30:] *= 1.02
        series = {str(i): values[:, i] for i in range(6)}
        (change,) = pooled(series).changes
        assert abs(int(change.position) - 30) <= 3
        assert change.pvalue <= 0.001
        assert len(change.members) == 6
        seen += sum(bool(detect(v).changes) for v in series.values())
    assert seen <= 20  # of 60: alone, a third at most


def test_replicates_and_what_is_said_of_a_change() -> None:
    series, positions = group(10, 3, step=-0.05, seed=4)
    got = pooled(series, positions=[f"v{p}" for p in positions])
    (change,) = got.changes
    assert (got.rows, got.alarm_probability) == ("runs", pytest.approx(0.005))
    assert (change.index, change.position) == (15, "v5")
    assert str(change.interval[0]) <= "v5" <= str(change.interval[1])
    assert [m.name for m in change.members] == list(series)
    for member in change.members:
        assert member.effect_interval[0] < member.effect < member.effect_interval[1] < 0.0
        assert member.before.count + member.after.count == 30
    assert Pooled.from_json(got.to_json()) == got


def test_two_changes_and_opposite_directions() -> None:
    random = np.random.default_rng(7)
    values = 100.0 + random.normal(size=(90, 4))
    values[30:, :2] *= 1.03
    values[30:, 2:] *= 0.97
    values[60:] *= 1.05
    got = pooled({str(i): values[:, i] for i in range(4)})
    assert [abs(int(c.position) - at) <= 1 for c, at in zip(got.changes, (30, 60), strict=True)]
    first, second = got.changes
    assert (first.together, second.together) == (False, True)
    assert [m.effect > 0 for m in first.members] == [True, True, False, False]
    assert [m.before.count for m in second.members] == [
        int(second.position) - int(first.position)
    ] * 4


def test_missing_values_and_series_that_begin_late() -> None:
    series, positions = group(60, 1, step=0.04, seed=9)
    names = list(series)
    series[names[0]][:40] = math.nan
    series[names[1]][::3] = math.nan
    series["never"] = np.full(60, math.nan)
    series["constant"] = np.full(60, 7.0)
    got = pooled(series, positions=positions)
    (change,) = got.changes
    assert abs(int(change.position) - 30) <= 3
    members = {m.name: m for m in change.members}
    assert names[0] not in members
    assert "never" not in members
    assert members["constant"].effect == 0.0


def test_a_spike_in_all_series_is_no_change() -> None:
    for seed in range(10):
        series, positions = group(60, 1, seed=seed)
        for values in series.values():
            values[30] *= 0.5
        assert pooled(series, positions=positions).changes == ()


def test_positions_that_scatter_in_all_series_are_not_changes() -> None:
    random = np.random.default_rng(10)
    alarms = 0
    for _ in range(60):
        common = np.repeat(random.normal(size=(12, 1)), 3, axis=0)
        values = 100.0 + 0.5 * random.normal(size=(36, 6)) + common
        alarms += bool(
            pooled(
                {str(i): values[:, i] for i in range(6)}, positions=np.repeat(range(12), 3).tolist()
            ).changes
        )
    # Positions differ by twice what runs do: shuffled runs alone would nearly always alarm.
    assert alarms <= 8


def test_many_replicated_positions_are_shuffled_whole() -> None:
    series, positions = group(40, 2, step=0.05)
    got = pooled(series, positions=positions)
    assert got.rows == "positions"
    assert [abs(int(c.position) - 20) <= 1 for c in got.changes] == [True]


@pytest.mark.parametrize(
    "series",
    [
        {},
        {"a": []},
        {"a": [], "b": []},
        {"a": [1.0]},
        {"a": [None, None], "b": [math.nan, None]},
        {"a": [3.0] * 30, "b": [0.0] * 30},
        {"a": [1.0, 2.0, None], "b": [None, None, 4.0]},
    ],
)
def test_nothing_to_find(series: Any) -> None:
    got = pooled(series)
    assert got.changes == ()
    assert Pooled.from_json(got.to_json()) == got


@pytest.mark.parametrize(
    ("series", "options", "message"),
    [
        ({"a": [1.0], "b": [1.0, 2.0]}, {}, "same length"),
        ({"a": [1.0], "b": [math.inf]}, {}, "series 'b': .*inf"),
        ({"a": [[1.0]]}, {}, "series 'a': .*one-dimensional"),
        ({"a": [1.0, 2.0]}, {"positions": [2, 1]}, "sorted"),
        ({"a": [1.0]}, {"alarms_per_1000": 0.0}, "alarms_per_1000"),
        ({"a": [1.0]}, {"seed": -1}, "seed"),
    ],
)
def test_refusals_are_one_sentence(series: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        pooled(series, **options)
    assert "\n" not in str(caught.value)


def test_a_tree_that_is_no_result() -> None:
    tree = json.loads(pooled({"a": [1.0]}).to_json())
    odd: list[dict[str, Any]] = [
        {"rows": "columns"},
        {"changes": [{}]},
        {"alarm_probability": None},
    ]
    for change in odd:
        with pytest.raises(ValueError, match="the saved pooled detection is invalid"):
            Pooled.from_dict({**tree, **change})


cell = st.one_of(st.none(), st.floats(-1e300, 1e300), st.integers(-2, 2).map(float))


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 16).flatmap(
        lambda n: st.tuples(
            st.lists(st.integers(0, 5), min_size=n, max_size=n).map(sorted),
            st.lists(st.lists(cell, min_size=n, max_size=n), max_size=4),
        )
    )
)
def test_any_input_gives_a_sound_result(given_rows: Any) -> None:
    positions, columns = given_rows
    series = {str(i): c for i, c in enumerate(columns)}
    got = pooled(series, positions=positions, alarms_per_1000=50)
    assert Pooled.from_json(got.to_json()) == got
    assert pooled(series, positions=positions, alarms_per_1000=50) == got
    for change in got.changes:
        assert positions[change.index] == change.position
        first, position, last = map(
            float, (*change.interval[:1], change.position, change.interval[1])
        )
        assert first <= position <= last
        assert 0.0 < change.pvalue <= 0.5


def test_levels_of_the_shuffles() -> None:
    for rate, level in zip(
        shuffle_levels(NOISES["spikes"], 0.5, (0.05, 0.2), 300, 72), (0.05, 0.2), strict=True
    ):
        assert rate.limits()[0] <= level <= rate.limits()[1]


@pytest.mark.parametrize("kind", ["gauss", "t3", "bimodal", "spikes", "quantised"])
@pytest.mark.parametrize("ladder", [SeriesShape(40, 1), SeriesShape(10, 3)])
def test_unchanged_groups_keep_the_alarm_probability(kind: str, ladder: SeriesShape) -> None:
    alarms, _ = pooled_rates(NOISES[kind], ladder, 0.5, 0.0, 0, 100, seed=71)
    # .1 and .5 are expected; five or more have a probability below .0002.
    assert alarms.hits <= 4
