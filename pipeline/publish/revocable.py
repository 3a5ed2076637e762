"""Published facts that can be withdrawn, such as a change that later turns out to be noise."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from pipeline.publish.samples import Labels, SampleGroup, TimedValue, TimeSeries

_WORD = "fact "

TAKEN_BACK = 0.0
"""The value that withdraws a fact, sent a millisecond after it."""


class Fact(NamedTuple):
    """One published value at one time that may be withdrawn later."""

    labels: Labels
    at: int
    value: float

    @property
    def key(self) -> str:
        """The key of the fact, which is all that is needed to withdraw it."""
        return _WORD + json.dumps([self.at, self.labels], separators=(",", ":"))

    def group(self) -> SampleGroup:
        """Return the fact as a group of samples."""
        series = [TimeSeries(self.labels, [TimedValue(self.at, self.value)])]
        return SampleGroup(self.key, repr(self.value), lambda: series)


def fact_groups(facts: Iterable[Fact], known: Iterable[str]) -> Iterator[SampleGroup]:
    """Yield all facts, and then withdrawals of the receiver's facts that no longer hold.

    ``known`` are the keys of all groups that the receiver has.
    """
    published = set()
    for fact in facts:
        published.add(fact.key)
        yield fact.group()
    yield from (_withdrawn(key).group() for key in _gone(known, published))


def _gone(known: Iterable[str], published: Collection[str]) -> list[str]:
    return [key for key in known if key.startswith(_WORD) and key not in published]


def _withdrawn(key: str) -> Fact:
    at, labels = json.loads(key.removeprefix(_WORD))
    return Fact(tuple((name, value) for name, value in labels), at, TAKEN_BACK)
