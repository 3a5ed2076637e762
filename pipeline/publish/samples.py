"""Types for samples of time series, in groups that are sent together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

Labels = tuple[tuple[str, str], ...]
"""The labels of a series, including ``__name__``, sorted by name; none is empty."""


class TimedValue(NamedTuple):
    """A value at a time, in milliseconds since 1970."""

    at: int
    value: float


class TimeSeries(NamedTuple):
    """The samples of one time series in order of time."""

    labels: Labels
    samples: Sequence[TimedValue]


class SampleGroup(NamedTuple):
    """Samples that are sent together or not at all.

    ``key`` identifies their subject, ``digest`` their contents: groups with equal keys and digests
    have equal samples. ``series`` generates them on demand, so samples that a receiver has are
    never read.
    """

    key: str
    digest: str
    series: Callable[[], Iterable[TimeSeries]]


def labelled(name: str, **labels: object) -> Labels:
    """Return the labels of a time series, without empty ones."""
    given = {"__name__": name, **{key: str(value) for key, value in labels.items()}}
    return tuple(sorted((key, value) for key, value in given.items() if value))


def milliseconds(at: datetime) -> int:
    """Return a time as milliseconds since 1970, as Prometheus counts it."""
    return round(at.timestamp() * 1000)
