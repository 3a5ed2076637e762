"""Read and write durations, percentages, sizes, money and counts, always with a unit."""

from __future__ import annotations

import re
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, WithJsonSchema

_WHOLE = 1e15
"""The limit below which all digits before the decimal point are shown: a double has about 15."""

_DECIMAL = r"\d{1,15}(?:\.\d+)?"
"""The pattern of a decimal number. It has at most 15 digits before the point, so that the value
stays finite in every unit."""

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(rf"({_DECIMAL})\s*(ms|s|m|h)")
_BYTES = {"MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE = re.compile(rf"({_DECIMAL})\s*(MB|GB|TB)")
_MONEY = re.compile(rf"({_DECIMAL})\s*([A-Z]{{3}})")
_CENT = 0.01
_PERCENT = re.compile(rf"({_DECIMAL})\s*%")


def parse_duration(value: Any) -> float:
    """Convert a text such as ``250ms``, ``1s``, ``15m`` or ``2h`` to seconds.

    Raises ValueError, with an error message, for anything else. A bare number is refused, because
    15 could be seconds or minutes.
    """
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            f'{value!r} is not a duration; write a number and one of ms, s, m, h, for example "15m"'
        )
    return float(match[1]) * _SECONDS[match[2]]


class Money(NamedTuple):
    """An amount of money with its currency code, as EUR."""

    amount: float
    currency: str


def parse_money(value: Any) -> Money:
    """Convert text as ``0.34 EUR`` to an amount. Raises ValueError for other text."""
    match = _MONEY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            f'{value!r} is not a price; write a number and a currency code, for example "0.34 EUR"'
        )
    return Money(float(match[1]), match[2])


def parse_percent(value: Any) -> float:
    """Convert text as ``3%`` to a fraction. Raises ValueError for other text."""
    match = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            f'{value!r} is not a percentage; write it with the percent sign, for example "3%"'
        )
    return float(match[1]) / 100.0


def parse_size(value: Any) -> int:
    """Convert text as ``500MB``, ``50GB`` or ``2TB`` to bytes.

    Raises ValueError, with an error message, for anything else.
    """
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            f'{value!r} is not a size; write a number and MB, GB or TB, for example "50GB"'
        )
    return int(float(match[1]) * _BYTES[match[2]])


Size = Annotated[
    int,
    BeforeValidator(parse_size),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?\s*(MB|GB|TB)$"}),
]
"""Bytes, written with a unit."""

Price = Annotated[
    Money,
    BeforeValidator(parse_money),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?\s*[A-Z]{3}$"}),
]
"""Money, written with its currency."""

Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?\s*(ms|s|m|h)$"}),
]
"""Seconds, written with a unit."""

Percent = Annotated[
    float,
    BeforeValidator(parse_percent),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?\s*%$"}),
]
"""A fraction, written as a percentage."""


def show_duration(seconds: float) -> str:
    """Format a duration in seconds: ``0.4s``, ``52s``, ``3m10s``, ``2h05m``."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def show_money(money: Money) -> str:
    """Format an amount of money: ``12.40 EUR``, or ``under 0.01 EUR``."""
    amount, currency = money
    if 0 < amount < _CENT:
        return f"under {_CENT:.2f} {currency}"
    return f"{amount:.2f} {currency}"


def show_small_money(money: Money) -> str:
    """Format a small price, as of an hour, with four decimals."""
    return f"{money.amount:.4f} {money.currency}"


def show_percent(fraction: float, *, sign: bool = False) -> str:
    """Format a fraction as a percentage with one decimal: ``10.0 %``, with ``sign`` ``+10.0 %``."""
    rounded = round(100.0 * fraction, 1) + 0.0  # no negative zero
    return f"{rounded:+.1f} %" if sign else f"{rounded:.1f} %"


def show_figure(value: float, digits: int = 4) -> str:
    """Format a value with ``digits`` significant digits, but never round digits before the point.

    The exponent notation (``1.523e+04`` for 15230) is hard to read, so it is not used.
    """
    whole = 10**digits <= abs(value) < _WHOLE
    return f"{value:.0f}" if whole else f"{value:.{digits}g}"


def plural(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun: ``1 run``, ``3 series``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}".replace(",", "\u202f")
