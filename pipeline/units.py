"""Durations, percentages and counts as people write them, with the unit always said."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)")
_BYTES = {"MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(MB|GB|TB)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def parse_duration(value: Any) -> float:
    """Return the seconds of a text as ``250ms``, ``1s``, ``15m`` or ``2h``.

    Raises ValueError, in a sentence, for anything else; a bare number has no unit and is
    refused, because 15 could be seconds or minutes.
    """
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            f'{value!r} is not a duration; write a number and one of ms, s, m, h, as "15m"'
        )
    return float(match[1]) * _SECONDS[match[2]]


def parse_percent(value: Any) -> float:
    """Return the fraction of a text as ``3%``. Raises ValueError for anything else."""
    match = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f'{value!r} is not a percentage; write it with its sign, as "3%"')
    return float(match[1]) / 100.0


def parse_size(value: Any) -> int:
    """Return the bytes of a text as ``500MB``, ``50GB`` or ``2TB``.

    Raises ValueError, in a sentence, for anything else.
    """
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f'{value!r} is not a size; write a number and MB, GB or TB, as "50GB"')
    return int(float(match[1]) * _BYTES[match[2]])


Size = Annotated[
    int,
    BeforeValidator(parse_size),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?\s*(MB|GB|TB)$"}),
]
"""Bytes, written with a unit."""

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
    """Write seconds for a person: ``0.4s``, ``52s``, ``3m10s``, ``2h05m``."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun: ``1 run``, ``3 series``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}".replace(",", "\u202f")
