"""What a method of detection is: from a series to the places where it changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from changepoint.series import Series


@dataclass(frozen=True, slots=True)
class Found:
    """A change between the positions ``at - 1`` and ``at`` of a series, and its p-value."""

    at: int
    pvalue: float


Method = Callable[[Series, float, int], tuple[Found, ...]]
"""Takes the series, the alarm probability of one search and a seed; returns changes in order."""
