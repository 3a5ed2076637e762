"""Detect changes in a series that grows, at the cost of the new values only."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

import numpy as np

from changepoint.api import budget_of_levels, detect, detection_of
from changepoint.detection.default import LADDER
from changepoint.detection.incremental import Resumed
from changepoint.model import ChangePoint, Detection, Position
from changepoint.options import Options, checked
from changepoint.series import LARGEST, Floats, Positions, read
from changepoint.to_json import own

VERSION = 1
"""Version of a stream's JSON form."""

ROOM = 64
"""Initial capacity in values; the capacity doubles when it is exhausted."""

PLAIN = (type(None), int, str)
"""Types of labels that need no individual check."""


class Stream:
    """A growing series and its changes, equal to those that :func:`changepoint.detect` finds.

    After any number of appends :meth:`detection` equals ``detect`` of the same values with the same
    options, for every method. Appending is cheap; the search runs on demand, and its result is kept
    until the next append. The method "default" continues from its last search if the series is
    longer than a ladder, every value is a position of its own, and ``min_effect`` is 0; otherwise a
    search starts from the first value. A stream can be pickled, copied and written as JSON; the
    copy continues like the original.

    Takes the options of ``detect`` and raises its ValueError.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        self._options = checked(options)
        self._search: Resumed | None = None
        self._room = np.empty(ROOM)
        self._count = self._missing = 0
        self._positions: list[Position] | None = None
        self._detection: Detection | None = None
        self._indices: tuple[int, ...] | None = None

    def append(self, value: float | None, position: Position | None = None) -> None:
        """Add the next value to the series.

        Args:
            value: None and nan are missing.
            position: label of its position, not below that of the previous value; an equal label is
                a replicate. Given for every value of the stream or for none.

        Raises:
            ValueError: the value or the position is malformed. The message is one sentence; the
                stream is unchanged.
        """
        if type(value) is float and abs(value) <= LARGEST and type(position) in PLAIN:
            # The common case needs no check but its position, which is ten times as fast.
            self._take([value], None if position is None else [position], 0)
        else:
            self.extend((value,), None if position is None else (position,))

    def extend(
        self, values: Sequence[float | None] | Floats, positions: Positions | None = None
    ) -> None:
        """Add several values to the series, or none if one of them is invalid.

        Args:
            values: as in ``detect``, following those appended so far.
            positions: as in ``detect``, of these values.

        Raises:
            ValueError: as ``append``; an index counts from the first of these values.
        """
        block = read(values, positions)
        if block.length:
            numbers = np.full(block.length, math.nan)
            numbers[block.indices] = block.measured
            labels = None if positions is None else [own(p) for p in positions]
            self._take(numbers, labels, block.length - len(block.indices))

    def detection(self) -> Detection:
        """Return the result of the search in all values so far."""
        if self._detection is None:
            if self._resumes:
                series = read(self._values, None)
                outcome = self._resumed().outcome(series.measured)
                given = {name: option for name, option in self._options.items() if name != "seed"}
                self._detection = detection_of(series, outcome, **given)
            else:
                self._detection = detect(self._values, positions=self._positions, **self._options)
        return self._detection

    @property
    def indices(self) -> tuple[int, ...]:
        """Return the index of the first value after each change of level.

        If the search can continue from the previous one, only the indices are computed: this is the
        cheapest check for changes.
        """
        if self._indices is None:
            if self._resumes and self._detection is None:
                kept = np.flatnonzero(~np.isnan(self._values)) if self._missing else None
                places, _ = self._resumed().found(
                    self._values if kept is None else self._values[kept]
                )
                self._indices = tuple((places if kept is None else kept[places]).tolist())
            else:
                self._indices = tuple(segment.start for segment in self.detection().segments[1:])
        return self._indices

    @property
    def changes(self) -> tuple[ChangePoint, ...]:
        """Return the changes found in all values so far."""
        return self.detection().changes

    def __len__(self) -> int:
        """Return how many values were added, including missing ones."""
        return self._count

    @property
    def _resumes(self) -> bool:
        """Whether the search can continue from the previous one."""
        return (
            self._options["method"] == "default"
            and self._options["min_effect"] == 0.0
            and self._positions is None
            and self._count - self._missing > LADDER
        )

    def _resumed(self) -> Resumed:
        """Return the search that continues from its last state, created on first use."""
        if self._search is None:
            method, alarms = self._options["method"], self._options["alarms_per_1000"]
            self._search = Resumed(budget_of_levels(method, alarms))
        return self._search

    @property
    def _values(self) -> Floats:
        return self._room[: self._count]

    def _take(
        self, values: Sequence[float] | Floats, labels: list[Position] | None, missing: int
    ) -> None:
        """Add checked values and their labels to the series.

        missing: number of missing values among them.
        """
        if self._count:
            _check_junction(self._positions, labels)
        stop = self._count + len(values)
        if stop > len(self._room):
            room = np.empty(max(stop, 2 * len(self._room)))
            room[: self._count] = self._values
            self._room = room
        self._room[self._count : stop] = values
        if self._positions is None:
            self._positions = labels
        elif labels is not None:
            self._positions += labels
        self._count = stop
        self._missing += missing
        self._detection = None
        self._indices = None

    def to_dict(self) -> dict[str, Any]:
        """Return the whole state as plain dicts, lists, strings and finite numbers."""
        return {
            "version": VERSION,
            "options": dict(self._options),
            "values": [None if math.isnan(value) else value for value in self._values.tolist()],
            "positions": None if self._positions is None else list(self._positions),
        }

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """Read a growing series back from :meth:`to_dict`.

        Raises:
            ValueError: something is missing or invalid, or the version is unknown. The message is
                one sentence.
        """
        try:
            version = tree["version"]
            if version == VERSION:
                stream = cls(**tree["options"])
                stream.extend(tree["values"], tree["positions"])
                return stream
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"the saved state of the stream is invalid: {error!r}") from error
        raise ValueError(
            f"the stream's state has version {version!r}, but this release reads only version "
            f"{VERSION}"
        )

    def to_json(self) -> str:
        """Return the whole state as standard JSON text, with exact numbers."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a growing series back from the text of :meth:`to_json`."""
        try:
            tree = json.loads(text)
        except ValueError as error:
            raise ValueError(f"the saved state of the stream is invalid: {error}") from error
        return cls.from_dict(tree)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)


def _check_junction(former: list[Position] | None, latter: list[Position] | None) -> None:
    """Raise ValueError for labels that do not continue those of the series."""
    if (former is None) != (latter is None):
        raise ValueError("give a position for every value of a stream, or for none")
    if former is None or latter is None:
        return
    last, first = former[-1], latter[0]
    if isinstance(last, str) != isinstance(first, str):
        raise ValueError("positions must be all numbers or all strings")
    if first < last:  # type: ignore[operator] # both are of one kind, as just checked
        raise ValueError(f"positions must be sorted, but {first!r} follows {last!r}")
