"""Read the totals of each kind of work in a step, as ``lua/tally.lua`` prints them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from pipeline.workloads.base.histogram import Histogram, upper_ms

_NUMBER: Final = r"(-?\d+(?:\.\d+)?)"
_INTERVAL: Final = re.compile(
    rf"^nightshift tally t={_NUMBER} kind=(\S+) events=(\d+) operations=(\d+) errors=(\d+)$",
    re.MULTILINE,
)
_TOTAL: Final = re.compile(
    rf"^nightshift tally-total seconds={_NUMBER} kind=(\S+) events=(\d+) operations=(\d+)"
    rf" errors=(\d+) lat_sum_ms={_NUMBER} lat_max_ms={_NUMBER}\n"
    r"nightshift tally-histogram kind=\2((?: \d+:\d+)*) ?$",
    re.MULTILINE,
)
_FATAL: Final = re.compile(r"^FATAL: (.+)$", re.MULTILINE)


class Tally(NamedTuple):
    """The total of one kind of work in a step, as inserts.

    ``timeline`` is pairs of seconds since the start and operations per second since the previous
    entry. ``histogram`` counts events; an event may consist of many operations.
    """

    events: int
    operations: int
    errors: int
    seconds: float
    average_ms: float
    max_ms: float
    histogram: Histogram
    timeline: tuple[tuple[float, float], ...]

    @property
    def per_second(self) -> float:
        """The rate of this kind of work in operations per second."""
        return self.operations / self.seconds


def read_tallies(text: str) -> dict[str, Tally]:
    """Return the totals of each kind of work, by the name of the kind.

    Raises ValueError, with an error message, for incomplete output.
    """
    found = {
        kind: Tally(
            events=int(events),
            operations=int(operations),
            errors=int(errors),
            seconds=float(seconds),
            average_ms=float(sum_ms) / int(events) if int(events) else 0.0,
            max_ms=float(max_ms),
            histogram=_histogram(kind, int(events), buckets),
            timeline=tuple(_timeline(text, kind)),
        )
        for seconds, kind, events, operations, errors, sum_ms, max_ms, buckets in _TOTAL.findall(
            text
        )
    }
    if not found:
        fatal = _FATAL.search(text)
        reason = f": {fatal[1].strip()}" if fatal else " or was killed: its output has no totals"
        raise ValueError(f"sysbench failed{reason}")
    return found


def _histogram(kind: str, events: int, buckets: str) -> Histogram:
    pairs = [pair.split(":") for pair in buckets.split()]
    histogram = tuple((upper_ms(int(bucket)), int(count)) for bucket, count in pairs)
    if sum(count for _, count in histogram) != events:
        raise ValueError(f"sysbench's output is incomplete: the histogram lacks some of the {kind}")
    return histogram


def _timeline(text: str, kind: str) -> Iterator[tuple[float, float]]:
    reports = [(float(t), int(done)) for t, of, _, done, _ in _INTERVAL.findall(text) if of == kind]
    for (begin, before), (end, after) in pairwise([(0.0, 0), *reports]):
        if end > begin:
            yield end, (after - before) / (end - begin)
