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


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a search.

    alarms_per_1000: the caller's budget. alarm_probability: the probability of an alarm in one
    search that it comes to. min_effect: smallest relative change that matters. seed: of what is
    random.
    """

    alarms_per_1000: float
    alarm_probability: float
    min_effect: float
    seed: int


@dataclass(frozen=True, slots=True)
class Method:
    """A way of finding changes.

    find: takes a series and what is asked of it, returns the changes in order. filters: whether
    it leaves out small changes by a measure of its own; if not, the caller does.
    """

    find: Callable[[Series, Request], tuple[Found, ...]]
    filters: bool = False
