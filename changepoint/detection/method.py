"""The interface of a detection method: from a series to the places where it changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from changepoint.detection.power import Needs
from changepoint.series import GroupedSeries


@dataclass(frozen=True, slots=True)
class FoundChange:
    """A change between the positions ``at - 1`` and ``at`` of a series, and its p-value."""

    at: int
    pvalue: float


@dataclass(frozen=True, slots=True)
class SharedNoise:
    """The noise of one series, estimated from all series that were measured with it.

    scale: standard deviation of the logarithm of a value, which is a share of the level. degrees:
    degrees of freedom of the variance.
    """

    scale: float
    degrees: float


@dataclass(frozen=True, slots=True)
class Request:
    """What a caller asks of a search: confidence, smallest effect, seed and shared noise.

    alarms_per_1000: the caller's budget. min_effect: smallest relative change that matters. seed:
    seed of the random numbers. noise: noise of a value, if it is known from series of the same
    runs. autocorrelation: correlation of neighbouring positions, if it is known from other series
    of the machine.
    """

    alarms_per_1000: float
    min_effect: float
    seed: int
    noise: SharedNoise | None = None
    autocorrelation: float | None = None


@dataclass(frozen=True, slots=True)
class MethodResult:
    """The changes found by a method, and the evidence that it requires.

    found: the changes in order. alarm_probability: probability of a false alarm in one search of an
    unchanged series. needs: function that returns the smallest step that this method finds in such
    a series. noise: the noise that the search used, if it was not estimated from the series alone.
    """

    found: tuple[FoundChange, ...]
    alarm_probability: float
    needs: Needs
    noise: SharedNoise | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """A detection method: it takes a series and a request, and returns the changes found.

    find: function that searches a series with the parameters of a request. filters: whether the
    method itself leaves out small changes; otherwise the caller does. spreads: whether the caller
    also searches for changes of spread, which then have their share of the budget.
    """

    find: Callable[[GroupedSeries, Request], MethodResult]
    filters: bool = False
    spreads: bool = False
