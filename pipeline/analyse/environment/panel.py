"""The controls of one machine as a table: a row for each figure, a column for each night."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.model import StepStatus
from pipeline.store.controls import ControlRow

Floats = NDArray[np.float64]


class Figure(NamedTuple):
    """What is fixed along the nights of a control: one binary, one step, one metric."""

    control: str
    target: str
    build_hash: str
    workload_hash: str
    step: str
    group: str
    unit: str
    metric: str


class Place(NamedTuple):
    """A machine of a class. A machine of two classes is two places."""

    machine_class: str
    machine: str


@dataclass(frozen=True)
class Panel:
    """The controls of one machine.

    ``began`` is when the first control of each night was started, ascending. ``values`` is
    (figures, nights, repetitions): natural logarithms, nan where nothing was measured.
    ``prints`` are the fingerprints of the machine, one for each night.
    """

    place: Place
    figures: tuple[Figure, ...]
    nights: tuple[date, ...]
    began: tuple[datetime, ...]
    values: Floats
    prints: tuple[Mapping[str, Any], ...]

    @cached_property
    def means(self) -> Floats:
        """Return (figures, nights): the means of the repetitions."""
        counts = np.isfinite(self.values).sum(axis=2)
        sums = np.nansum(self.values, axis=2)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)

    def night_at(self, moment: datetime) -> int:
        """Return the column whose night a moment belongs to: the last that had begun.

        What was before the first night is of the first: nothing else is known of it.
        """
        return max(bisect_right(self.began, moment) - 1, 0)


def panels(rows: Iterable[ControlRow]) -> list[Panel]:
    """Return the panels of all machines, by class and hostname.

    Steps that failed, or failed their SLA, and values that have no logarithm are left out, and so
    are steps that were disturbed where the other run of the night was not.
    """
    by_place: dict[Place, list[ControlRow]] = {}
    for row in rows:
        if row.status == StepStatus.OK and row.value > 0:
            place = Place(str(row.machine["machine_class"]), str(row.machine["hostname"]))
            by_place.setdefault(place, []).append(row)
    return [_panel(place, found) for place, found in sorted(by_place.items())]


def _panel(place: Place, rows: list[ControlRow]) -> Panel:
    first: dict[date, ControlRow] = {}
    for row in sorted(rows, key=lambda row: (row.started_at, row.run_id)):
        first.setdefault(row.night, row)
    nights = sorted(first)
    column = {night: at for at, night in enumerate(nights)}
    figures = sorted({_figure(row) for row in rows})
    line = {figure: at for at, figure in enumerate(figures)}
    repetitions = sorted({row.repetition for row in rows})
    values = np.full((len(figures), len(nights), len(repetitions)), np.nan)
    calm = {(_figure(row), row.night) for row in rows if not row.disturbed}
    for row in rows:
        # As in series: what is disturbed every time is better than nothing.
        if row.disturbed and (_figure(row), row.night) in calm:
            continue
        at = line[_figure(row)], column[row.night], repetitions.index(row.repetition)
        values[at] = math.log(row.value)
    return Panel(
        place=place,
        figures=tuple(figures),
        nights=tuple(nights),
        began=tuple(first[night].started_at for night in nights),
        values=values,
        prints=tuple(first[night].machine for night in nights),
    )


def _figure(row: ControlRow) -> Figure:
    return Figure(
        row.control,
        row.target,
        row.build_hash,
        row.workload_hash,
        row.step,
        row.group,
        row.unit,
        row.metric,
    )
