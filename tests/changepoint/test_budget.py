"""A user's budget becomes a threshold that detect takes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from changepoint import budget, detect
from changepoint.budget import MOST


def test_exact() -> None:
    # 200 series on 30 nights are 6000 searched nights; 3 wrong issues are .5 of a thousand.
    assert budget(200, 30, 3.0) == pytest.approx(0.5)
    assert budget(1, 1, 0.001) == pytest.approx(1.0)


def test_a_generous_budget_stays_where_alarms_are_measured() -> None:
    assert budget(1, 1, 1e6) == MOST
    assert detect([1.0, 2.0], alarms_per_1000=MOST).changes == ()


@given(st.integers(1, 10**6), st.integers(1, 31), st.floats(0.001, 100))
def test_it_keeps_the_budget(series: int, nights: int, wrong: float) -> None:
    rate = budget(series, nights, wrong)
    assert 0.0 < rate <= MOST
    assert series * nights * rate / 1000.0 <= wrong * (1 + 1e-12)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0, 30, 1.0), "series"),
        ((5, -1, 1.0), "nights"),
        ((5, 30, 0.0), "wrong_issues_per_month"),
        ((5, 30, math.nan), "wrong_issues_per_month"),
        ((5, math.inf, 1.0), "nights"),
        ((10**300, 1e300, 1e-300), "is impossible"),
    ],
)
def test_refusals(arguments: Any, name: str) -> None:
    with pytest.raises(ValueError, match=name) as caught:
        budget(*arguments)
    assert "\n" not in str(caught.value)
