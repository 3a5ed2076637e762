from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.units import (
    Money,
    parse_duration,
    parse_money,
    parse_percent,
    show_duration,
    show_figure,
    show_money,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", 0.25), ("1s", 1.0), ("1.5 s", 1.5), (" 15m ", 900.0), ("2h", 7200.0), ("0s", 0.0)],
)
def test_a_duration_is_a_number_with_its_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "value",
    [15, 1.5, "15", "", "s", "m15", "-1s", "15 min", "1s1s", "1,5s", "1e3s", True, None, []],
)
def test_what_is_no_duration_is_refused_with_what_to_write(value: Any) -> None:
    with pytest.raises(
        ValueError, match="is not a duration; write a number and one of ms, s, m, h"
    ):
        parse_duration(value)


@pytest.mark.parametrize(("text", "part"), [("3%", 0.03), ("0.5 %", 0.005), ("100%", 1.0)])
def test_a_percentage_is_a_fraction(text: str, part: float) -> None:
    assert parse_percent(text) == pytest.approx(part)


@pytest.mark.parametrize("text", ["0.34 EUR", "0.34EUR", " 0.34  EUR "])
def test_a_price_is_a_number_with_its_currency(text: str) -> None:
    assert parse_money(text) == Money(0.34, "EUR")


@pytest.mark.parametrize(
    "value", [0.34, "0.34", "EUR", "EUR 0.34", "-1 EUR", "1 Euro", "1 €", None]
)
def test_what_is_no_price_is_refused_with_what_to_write(value: Any) -> None:
    with pytest.raises(ValueError, match="is not a price; write a number and a currency"):
        parse_money(value)


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0.0, "0.00 EUR"), (0.004, "under 0.01 EUR"), (0.01, "0.01 EUR"), (1234.5, "1234.50 EUR")],
)
def test_money_is_written_with_its_currency(amount: float, text: str) -> None:
    assert show_money(Money(amount, "EUR")) == text


@pytest.mark.parametrize("value", [3, 0.03, "3", "%", "-3%", "3 percent", None])
def test_what_is_no_percentage_is_refused_with_what_to_write(value: Any) -> None:
    with pytest.raises(ValueError, match="is not a percentage; write it with the percent sign"):
        parse_percent(value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0s"),
        (0.44, "0.4s"),
        (9.94, "9.9s"),
        (10.0, "10s"),
        (59.4, "59s"),
        (59.6, "1m00s"),
        (190.0, "3m10s"),
        (3599.6, "1h00m"),
        (7500.0, "2h05m"),
    ],
)
def test_durations_are_shown_for_people(seconds: float, text: str) -> None:
    assert show_duration(seconds) == text


@given(st.integers(min_value=0, max_value=10**6), st.sampled_from(["ms", "s", "m", "h"]))
def test_the_unit_only_scales(number: int, unit: str) -> None:
    one = parse_duration(f"1{unit}")
    assert parse_duration(f"{number}{unit}") == pytest.approx(number * one)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (15234.5, 4, "15234"),
        (123456.7, 5, "123457"),
        (-10020.0, 4, "-10020"),
        (9999.4, 4, "9999"),
        (41.234, 4, "41.23"),
        (0.000012345, 4, "1.234e-05"),
        (2e18, 4, "2e+18"),
        (math.inf, 4, "inf"),
    ],
)
def test_figures_are_written_without_exponents(value: float, digits: int, text: str) -> None:
    assert show_figure(value, digits) == text
