"""Changes in series without noise."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from changepoint import exact_changes, exact_effect

FLOOR = 0.0005


def changes(
    values: list[float], positions: list[int] | None = None, min_effect: float = 0.005
) -> list[tuple[int, float]]:
    places = positions if positions is not None else list(range(len(values)))
    found = exact_changes(values, positions=places, floor=FLOOR, min_effect=min_effect)
    return [(int(one.position), round(one.effect, 6)) for one in found]


def test_every_step_is_found_the_newest_too() -> None:
    """The scan of Postgres 17.5 to 17.9, in millions of instructions."""
    assert changes([64.83, 64.83, 64.91, 93.47, 93.47]) == [(3, 0.439994)]
    assert changes([64.83, 93.47]) == [(1, 0.441771)]
    assert changes([64.83, 64.83, 64.91, 93.47], min_effect=0.001) == [(2, 0.001234), (3, 0.439994)]


def test_nothing_within_the_floor_or_below_the_smallest_effect_is_a_change() -> None:
    assert changes([100.0, 100.049, 100.0], min_effect=0.0) == []
    assert changes([100.0, 100.06, 100.0], min_effect=0.0) == [(1, 0.0006), (2, -0.0006)]
    assert changes([100.0, 100.4, 100.8, 101.2]) == [], "a creep has no change"


def test_the_median_of_a_position_decides() -> None:
    assert changes([100, 100, 100, 150, 100, 100, 102], [0, 0, 1, 1, 1, 4, 6]) == [(6, 0.02)]


def test_a_change_has_the_floor_as_its_interval() -> None:
    (found,) = exact_changes([10.0, 9.0], positions=[3, 7], floor=FLOOR, min_effect=0.005)
    assert found.interval == (7, 7)
    assert found.index == 1
    assert found.pvalue == 0.0
    assert found.effect_interval == pytest.approx((-0.1005, -0.0995))
    assert (found.before.level, found.after.level) == (10.0, 9.0)


def test_a_level_of_zero_has_no_ratio() -> None:
    assert exact_effect(0.0, 0.0) == 0.0
    assert exact_effect(0.0, 2.0) == math.inf
    (found,) = exact_changes([0.0, 2.0], positions=[0, 1], floor=FLOOR, min_effect=0.005)
    assert found.effect == math.inf


def test_input_that_fits_no_series_is_refused() -> None:
    for values, positions in (([1.0], [0, 1]), ([1.0, 2.0], [1, 0]), ([math.nan], [0])):
        with pytest.raises(ValueError, match="must"):
            exact_changes(values, positions=positions, floor=FLOOR, min_effect=0.0)
    assert exact_changes([], positions=[], floor=FLOOR, min_effect=0.0) == ()


@given(
    st.lists(st.floats(1.0, 1e9), min_size=1, max_size=30),
    st.floats(1e-6, 1e6),
    st.floats(0.0, 0.1),
)
def test_the_changes_do_not_depend_on_the_unit(
    values: list[float], unit: float, min_effect: float
) -> None:
    """And all changes that are not reported are small."""
    positions = range(len(values))

    def reported(levels: list[float]) -> set[int]:
        found = exact_changes(levels, positions=list(positions), floor=FLOOR, min_effect=min_effect)
        return {one.index for one in found}

    found = reported(values)
    sizes = {at: abs(values[at] / values[at - 1] - 1) for at in positions if at}
    limit = max(FLOOR, min_effect)
    clear = {at for at, size in sizes.items() if abs(size - limit) > 1e-9}
    assert found & clear == {at for at in clear if sizes[at] > limit}
    assert reported([value * unit for value in values]) & clear == found & clear
