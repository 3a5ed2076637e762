"""What is sent to Prometheus: samples of time series, in groups that are sent together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

Labels = tuple[tuple[str, str], ...]
"""The labels of a series, ``__name__`` among them, sorted by name; none is empty."""


class Sample(NamedTuple):
    """One value, ``at`` milliseconds since 1970."""

    at: int
    value: float


class TimeSeries(NamedTuple):
    """Samples of one series, in the order of time."""

    labels: Labels
    samples: Sequence[Sample]


class Group(NamedTuple):
    """Samples that are sent together, all new or none.

    ``key`` says what they are of, ``digest`` what they say: equal keys and digests, equal samples.
    ``series`` makes them when they are wanted: what a receiver has already is never read.
    """

    key: str
    digest: str
    series: Callable[[], Iterable[TimeSeries]]


def labelled(name: str, **labels: object) -> Labels:
    """Return the labels of the series ``name``. Prometheus takes an empty one for none."""
    given = {"__name__": name, **{key: str(value) for key, value in labels.items()}}
    return tuple(sorted((key, value) for key, value in given.items() if value))


def milliseconds(at: datetime) -> int:
    """Return a moment as Prometheus counts time."""
    return round(at.timestamp() * 1000)
