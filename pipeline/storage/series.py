"""A series as arrays: the values of one metric of one step along a line, with their runs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pipeline.model import SeriesKey

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Point(NamedTuple):
    """One value of a series, with its revision, position and repetition."""

    position: int
    revision: str
    repetition: int
    value: float
    run_id: str


class RunIndex(NamedTuple):
    """The runs of a line as arrays, which all series of the line share."""

    run_ids: tuple[str, ...]
    revisions: tuple[str, ...]
    positions: Ints
    repetitions: Ints


class Series:
    """The measurements of one metric of one step along a line, ordered by position.

    The values are arrays and not objects, because five years of nights are millions of values.

    Attributes:
        key: what was measured.
        runs: the runs of the line.
        at: (values,) index of each value's run in ``runs``, by position and repetition.
        values: (values,) the value of each measurement.
    """

    def __init__(self, key: SeriesKey, runs: RunIndex, at: Ints, values: Floats) -> None:
        self.key, self.runs, self.at, self.values = key, runs, at, values

    @classmethod
    def of(cls, key: SeriesKey, points: Iterable[Point]) -> Self:
        """Return a series of the given points, which must be ordered by position and repetition."""
        listed = list(points)
        runs = RunIndex(
            tuple(point.run_id for point in listed),
            tuple(point.revision for point in listed),
            np.array([point.position for point in listed], dtype=np.int64),
            np.array([point.repetition for point in listed], dtype=np.int64),
        )
        values = np.array([point.value for point in listed], dtype=np.float64)
        return cls(key, runs, np.arange(len(listed)), values)

    @cached_property
    def positions(self) -> Ints:
        """The position of each value on its line, as an array (values,)."""
        return self.runs.positions[self.at]

    @cached_property
    def measured(self) -> Ints:
        """The distinct positions that have a value, as an array (positions,)."""
        return self.positions[np.flatnonzero(np.diff(self.positions, prepend=-1))]

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The values of the series as objects. This is slow; use it only for short series."""
        ids, revisions, positions, repetitions = self.runs
        return tuple(
            Point(int(positions[at]), revisions[at], int(repetitions[at]), value, ids[at])
            for at, value in zip(self.at.tolist(), self.values.tolist(), strict=True)
        )

    @property
    def run_ids(self) -> list[str]:
        """The id of the run of each value, as a list (values,)."""
        return [self.runs.run_ids[at] for at in self.at.tolist()]

    def revision(self, index: int) -> str:
        """Return the revision that the value at an index was measured on."""
        return self.runs.revisions[int(self.at[index])]

    def where(self, kept: Mask) -> Series:
        """Return the series with only the values for which the mask (values,) is true."""
        return self if kept.all() else Series(self.key, self.runs, self.at[kept], self.values[kept])

    def with_values(self, values: Floats) -> Series:
        """Return the series with other values for the same runs."""
        return Series(self.key, self.runs, self.at, values)

    def with_key(self, **changed: Any) -> Series:
        """Return the series with some fields of its key changed."""
        return Series(self.key.model_copy(update=changed), self.runs, self.at, self.values)

    def __eq__(self, other: object) -> bool:
        """Whether two series have equal keys and equal points."""
        if not isinstance(other, Series):
            return NotImplemented
        return self.key == other.key and self.points == other.points

    __hash__ = None  # type: ignore[assignment] # Arrays can be changed.

    def __repr__(self) -> str:
        """Return the key and the number of values, for debugging."""
        return f"Series({self.key!r}, {len(self.values)} values)"
