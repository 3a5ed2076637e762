"""Samples of time series, in groups that are sent together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

Labels = tuple[tuple[str, str], ...]
"""The labels of a series, including ``__name__``, sorted by name; none is empty."""


class TimedValue(NamedTuple):
    """One value, ``at`` milliseconds since 1970."""

    at: int
    value: float


class TimeSeries(NamedTuple):
    """Samples of one series in time order."""

    labels: Labels
    samples: Sequence[TimedValue]


class SampleGroup(NamedTuple):
    """Samples that are sent together.

    ``key`` identifies their subject, ``digest`` their contents: groups with equal keys and digests
    have equal samples. ``series`` generates them on demand, so samples that a receiver has are
    never read.
    """

    key: str
    digest: str
    series: Callable[[], Iterable[TimeSeries]]


def labelled(name: str, **labels: object) -> Labels:
    """Return the labels of the series ``name``. To Prometheus, an empty label is no label."""
    given = {"__name__": name, **{key: str(value) for key, value in labels.items()}}
    return tuple(sorted((key, value) for key, value in given.items() if value))


def milliseconds(at: datetime) -> int:
    """Return a moment as milliseconds since 1970, Prometheus's unit of time."""
    return round(at.timestamp() * 1000)
