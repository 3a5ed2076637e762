"""The whole detector on ladders and on series that try to break it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changepoint import Detection, detect, methods
from changepoint.series import Floats

Labels = list[Any]


def ladder(
    positions: int,
    replicates: int,
    sigma: float = 0.0,
    step: float = 0.0,
    at: int = 0,
    seed: int = 1,
    level: float = 100.0,
) -> tuple[Floats, Labels]:
    random = np.random.default_rng(seed)
    values = level * (1.0 + random.normal(0.0, sigma, (positions, replicates)))
    values[at:] *= 1.0 + step
    return values.ravel(), np.repeat(np.arange(positions), replicates).tolist()


def found(values: Floats, positions: Labels, **options: Any) -> Labels:
    return [c.position for c in detect(values, positions=positions, **options).changes]


@pytest.mark.parametrize("at", [2, 3])
def test_a_halving_in_five_positions_of_two_is_found_whatever_the_seed(at: int) -> None:
    """Its exact p-value, 2/210, is so near the limit that random permutations would decide."""
    for seed in range(100):
        values, positions = ladder(5, 2, sigma=0.005, step=-0.5, at=at, seed=seed)
        assert found(values, positions, seed=seed) == [at]


def test_two_positions_of_three_replicates_never_alarm() -> None:
    for seed in range(50):
        values, positions = ladder(2, 3, sigma=0.001, step=0.5, at=1, seed=seed)
        assert found(values, positions) == []


@pytest.mark.parametrize("at", [1, 2, 3, 4])
@pytest.mark.parametrize("step", [-0.1, 0.1])
def test_ten_percent_in_five_positions_at_one_percent(at: int, step: float) -> None:
    hits = 0
    for seed in range(20):
        values, positions = ladder(5, 3, sigma=0.01, step=step, at=at, seed=seed)
        hits += found(values, positions) == [at]
    assert hits == 20


@pytest.mark.parametrize("at", [1, 4])
def test_ten_percent_at_an_edge_at_two_percent(at: int) -> None:
    hits = 0
    for seed in range(40):
        values, positions = ladder(5, 3, sigma=0.02, step=-0.1, at=at, seed=seed)
        hits += found(values, positions) == [at]
    assert hits >= 34


@pytest.mark.parametrize("at", [1, 5, 9])
def test_five_percent_in_ten_positions_at_one_percent(at: int) -> None:
    hits = 0
    for seed in range(20):
        values, positions = ladder(10, 3, sigma=0.01, step=-0.05, at=at, seed=seed)
        hits += found(values, positions) == [at]
    assert hits >= 18


def test_one_spiked_replicate_neither_alarms_nor_hides_a_step() -> None:
    hits = 0
    for seed in range(20):
        values, positions = ladder(5, 3, sigma=0.01, seed=seed)
        values[7] *= 0.7
        assert found(values, positions) == []
        values, positions = ladder(5, 3, sigma=0.01, step=-0.1, at=2, seed=seed)
        values[seed % 15] *= 0.7
        hits += found(values, positions) == [2]
    assert hits >= 18


def test_a_level_that_comes_and_goes_is_two_changes() -> None:
    values, positions = ladder(10, 3, sigma=0.01)
    values[9:18] *= 0.9
    assert found(values, positions) == [3, 6]


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([1, 1, 1, 1, 1.1, 1.1, 1.1, 1.1, 1, 1, 1, 1, 1.1, 1.1, 1.1], [4, 8, 12]),
        ([1, 1, 1, 1, 1.1, 1.1, 1.1, 1.2, 1.2, 1.2, 1.3, 1.3, 1.3], [4, 7, 10]),
        ([1, 1, 1, 1, 1.1, 1, 1, 1, 1, 1], [4, 5]),
    ],
)
def test_several_changes(levels: list[float], expected: list[int]) -> None:
    values, positions = ladder(len(levels), 3, sigma=0.01)
    assert found(values * np.repeat(levels, 3), positions) == expected


def test_positions_that_scatter_more_than_replicates_are_not_changes() -> None:
    alarms = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        values, positions = ladder(14, 3, sigma=0.002, seed=seed)
        values *= np.repeat(1.0 + random.normal(0.0, 0.01, 14), 3)
        alarms += bool(found(values, positions))
    # The scatter is five times that of the replicates: single values permuted would nearly
    # always alarm.
    assert alarms <= 8


def test_an_unreplicated_step_and_its_numbers() -> None:
    values, _ = ladder(60, 1, sigma=0.02, step=0.08, at=40, seed=3)
    (change,) = detect(values).changes
    first, last = map(float, change.interval)
    assert first <= 40 <= last
    low, high = change.effect_interval
    assert low < 0.08 < high
    assert low < change.effect < high
    assert change.pvalue <= 0.001
    assert change.kind == "level"
    assert change.direction == "increase"
    assert change.before.count + change.after.count == 60
    assert change.before.level == pytest.approx(100.0, rel=0.02)


def test_index_skips_missing_values() -> None:
    values, _ = ladder(40, 1, sigma=0.01, step=0.2, at=20, seed=3)
    given_values = [None if 18 <= i < 23 else float(v) for i, v in enumerate(values)]
    detection = detect(given_values)
    (change,) = detection.changes
    assert (change.index, change.position) == (23, 23)
    assert [(s.start, s.stop) for s in detection.segments] == [(0, 23), (23, 40)]


def test_labels_are_the_callers() -> None:
    values, positions = ladder(6, 3, sigma=0.005, step=0.1, at=3)
    names = [f"17.{p}" for p in positions]
    (change,) = detect(values, positions=names).changes
    assert (change.position, change.interval, change.index) == ("17.3", ("17.3", "17.3"), 9)


def test_direction_filters_the_report_only() -> None:
    values, positions = ladder(12, 3, sigma=0.005)
    values[12:24] *= 1.2
    both = detect(values, positions=positions)
    up = detect(values, positions=positions, direction="increase")
    down = detect(values, positions=positions, direction="decrease")
    assert [c.position for c in both.changes] == [4, 8]
    assert up.changes == both.changes[:1]
    assert down.changes == both.changes[1:]
    assert up.segments == down.segments == both.segments


def test_min_effect_merges_what_is_too_small() -> None:
    values, positions = ladder(12, 3, sigma=0.002)
    values[12:] *= 1.03
    values[24:] *= 1.3
    assert found(values, positions) == [4, 8]
    detection = detect(values, positions=positions, min_effect=0.1)
    (change,) = detection.changes
    assert change.position == 8
    assert change.before.count == 24
    assert len(detection.segments) == 2


@pytest.mark.parametrize("values", [[], [1.0], [7.0] * 30, [None] * 4, [math.nan] * 4, [0.0] * 9])
def test_nothing_to_find(values: Any) -> None:
    detection = detect(values)
    assert detection.changes == ()
    assert sum(s.level.count for s in detection.segments) == sum(
        v is not None and not math.isnan(v) for v in values
    )


def test_rounding_of_the_last_digit_is_no_change() -> None:
    assert detect([0.3] * 20 + [0.1 + 0.2] * 20).changes == ()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1.0, 1e200, 1e300])
def test_magnitudes(scale: float) -> None:
    values, positions = ladder(6, 3, sigma=0.003, step=-0.1, at=3)
    (change,) = detect(values / 200 * scale, positions=positions).changes
    assert change.effect == pytest.approx(-0.1, abs=0.01)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        (0.0, 3.0, math.inf),
        (0.0, -3.0, -math.inf),
        (4.0, 0.0, -1.0),
        (-2.0, -3.0, -0.5),
        (-1, 1, 2),
    ],
)
def test_levels_at_and_below_zero(before: float, after: float, effect: float) -> None:
    detection = detect([before] * 12 + [after] * 12)
    (change,) = detection.changes
    assert change.effect == pytest.approx(effect)
    low, high = change.effect_interval
    assert low <= change.effect <= high
    assert Detection.from_json(detection.to_json()) == detection


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1.0, math.inf], {}, "value 1 is inf"),
        ([1.0, 1e301], {}, "within"),
        ([[1.0], [2.0]], {}, "one-dimensional"),
        (["x"], {}, "numbers"),
        ([1.0, 2.0], {"positions": [2, 1]}, "sorted"),
        ([1.0, 2.0], {"positions": [1]}, "need 2 positions, not 1"),
        ([1.0, 2.0], {"positions": [1, "b"]}, "all numbers or all strings"),
        ([1.0], {"positions": [None]}, "numbers or strings"),
        ([1.0], {"method": "magic"}, "method 'magic' does not exist"),
        ([1.0], {"direction": "up"}, "direction"),
        ([1.0], {"alarms_per_1000": 0.0}, "alarms_per_1000"),
        ([1.0], {"min_effect": -0.1}, "min_effect"),
        ([1.0], {"min_effect": math.nan}, "min_effect"),
        ([1.0], {"seed": -1}, "seed"),
    ],
)
def test_refusals_are_one_sentence(values: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        detect(values, **options)
    assert "\n" not in str(caught.value)


def test_an_array_and_a_list_give_the_same() -> None:
    values, positions = ladder(6, 3, sigma=0.01, step=0.1, at=3)
    assert detect(values, positions=np.array(positions)) == detect(
        values.tolist(), positions=positions
    )
    assert methods() == ("default", "edivisive", "hunter", "hunter-corrected")


def test_a_stricter_budget_reports_no_more() -> None:
    values, positions = ladder(8, 3, sigma=0.02, step=0.05, at=4, seed=5)
    strict = found(values, positions, alarms_per_1000=0.0001)
    assert set(strict) <= set(found(values, positions, alarms_per_1000=5))


def test_longer_than_a_window() -> None:
    values, _ = ladder(900, 1, sigma=0.02, step=0.1, at=450, seed=2)
    (change,) = detect(values).changes
    assert abs(change.index - 450) <= 2


measured = st.one_of(st.none(), st.floats(-1e300, 1e300), st.integers(-3, 3).map(float))


@pytest.mark.filterwarnings("error")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), measured), max_size=30))
def test_any_input_gives_a_sound_detection(rows: Any) -> None:
    rows.sort(key=lambda row: row[0])
    positions, values = [p for p, _ in rows], [v for _, v in rows]
    detection = detect(values, positions=positions)
    assert Detection.from_json(detection.to_json()) == detection
    assert detect(values, positions=positions) == detection
    edges = [0] + [s.stop for s in detection.segments]
    if detection.segments:
        assert [s.start for s in detection.segments] == edges[:-1]
        assert edges[-1] == len(values)
    for change in detection.changes:
        assert positions[change.index] == change.position
        assert values[change.index] is not None
        earlier = [p for p, v in rows[: change.index] if v is not None]
        assert earlier
        assert earlier[-1] < change.position
        first, position, last = map(
            float, (change.interval[0], change.position, change.interval[1])
        )
        assert first <= position <= last
        assert 0.0 < change.pvalue <= 0.01
        assert not math.isnan(change.effect)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(3, 9),
    st.sampled_from([0.0, 0.04, 0.3]),
    st.floats(-1e4, 1e4),
    st.floats(1e-6, 1e6),
)
def test_shift_and_scale_change_nothing(
    seed: int, positions: int, step: float, shift: float, scale: float
) -> None:
    values, labels = ladder(positions, 3, sigma=0.02, step=step, at=positions // 2, seed=seed)
    base = detect(values, positions=labels)
    moved = detect((values + shift) * scale, positions=labels)
    assert [c.position for c in moved.changes] == [c.position for c in base.changes]
    assert [c.pvalue for c in moved.changes] == pytest.approx([c.pvalue for c in base.changes])


@pytest.mark.parametrize("kind", ["gauss", "t3", "quantised"])
def test_unchanged_ladders_keep_the_alarm_probability(kind: Any) -> None:
    random = np.random.default_rng(11)
    alarms = 0
    for _ in range(300):
        noise = random.standard_t(3, 30) if kind == "t3" else random.normal(size=30)
        values = 100.0 + (np.round(noise * 2) / 2 if kind == "quantised" else noise)
        alarms += bool(found(values, np.repeat(np.arange(10), 3).tolist()))
    # 1.5 are expected at the nominal .005; more than 6 has a probability of .001.
    assert alarms <= 6


def test_unchanged_unreplicated_series_keep_it_too() -> None:
    random = np.random.default_rng(12)
    alarms = sum(bool(detect(random.normal(100, 2, 30)).changes) for _ in range(300))
    assert alarms <= 6
