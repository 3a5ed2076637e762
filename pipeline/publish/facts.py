"""Facts: single values that can be taken back, as a change that is no longer held."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from pipeline.publish.samples import Group, Labels, Sample, TimeSeries

_WORD = "fact "

TAKEN_BACK = 0.0
"""The value of a fact that holds no more, told a millisecond after what it was."""


class Fact(NamedTuple):
    """One value of one series at one time, in milliseconds since 1970."""

    labels: Labels
    at: int
    value: float

    @property
    def key(self) -> str:
        """What it is about, from which it can be taken back when nothing else is left of it."""
        return _WORD + json.dumps([self.at, self.labels], separators=(",", ":"))

    def group(self) -> Group:
        """Return the fact as a group of its own."""
        series = [TimeSeries(self.labels, [Sample(self.at, self.value)])]
        return Group(self.key, repr(self.value), lambda: series)


def fact_groups(facts: Iterable[Fact], known: Iterable[str]) -> Iterator[Group]:
    """Yield a group for each fact, then one for each that holds no more.

    ``known`` are the keys of all groups that the receiver has.
    """
    told = set()
    for fact in facts:
        told.add(fact.key)
        yield fact.group()
    yield from (_taken_back(key).group() for key in _gone(known, told))


def _gone(known: Iterable[str], told: Collection[str]) -> list[str]:
    return [key for key in known if key.startswith(_WORD) and key not in told]


def _taken_back(key: str) -> Fact:
    at, labels = json.loads(key.removeprefix(_WORD))
    return Fact(tuple((name, value) for name, value in labels), at, TAKEN_BACK)
