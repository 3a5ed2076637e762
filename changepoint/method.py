"""What a method of detection is: from a series to the places where it changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from changepoint.power import Needs
from changepoint.series import Series


@dataclass(frozen=True, slots=True)
class Found:
    """A change between the positions ``at - 1`` and ``at`` of a series, and its p-value."""

    at: int
    pvalue: float


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a search.

    alarms_per_1000: the caller's budget. min_effect: smallest relative change that matters.
    seed: of what is random.
    """

    alarms_per_1000: float
    min_effect: float
    seed: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a method found, and how hard it is to convince.

    found: the changes in order. alarm_probability: of one search in an unchanged series. needs: how
    large a step has to be for this method to find it in such a series.
    """

    found: tuple[Found, ...]
    alarm_probability: float
    needs: Needs


@dataclass(frozen=True, slots=True)
class Method:
    """A way of finding changes.

    find: takes a series and what is asked of it. filters: whether it leaves out small changes by
    a measure of its own; if not, the caller does. spreads: whether the caller looks for changes of
    spread too, which then have their share of the budget.
    """

    find: Callable[[Series, Request], Outcome]
    filters: bool = False
    spreads: bool = False
