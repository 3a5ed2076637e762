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
from pipeline.storage.controls import ControlRow

Floats = NDArray[np.float64]


class ControlFigure(NamedTuple):
    """What a row of a panel measures: one metric of one step with one control binary."""

    control: str
    target: str
    build_hash: str
    workload_hash: str
    step: str
    group: str
    unit: str
    metric: str


class ClassMachine(NamedTuple):
    """A machine as a member of a machine class; a machine of two classes is two members."""

    machine_class: str
    machine: str


@dataclass(frozen=True)
class Panel:
    """The controls of one machine: a row for each figure, a column for each night.

    ``began`` are the start times of the first control of each night, ascending. ``values`` is
    (figures, nights, repetitions): natural logarithms, nan where a value is missing. ``prints`` are
    the machine's fingerprints, one per night.
    """

    place: ClassMachine
    figures: tuple[ControlFigure, ...]
    nights: tuple[date, ...]
    began: tuple[datetime, ...]
    values: Floats
    prints: tuple[Mapping[str, Any], ...]

    @cached_property
    def means(self) -> Floats:
        """Return the mean of the repetitions of each figure in each night.

        Returns (figures, nights).
        """
        counts = np.isfinite(self.values).sum(axis=2)
        sums = np.nansum(self.values, axis=2)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)

    def night_at(self, moment: datetime) -> int:
        """Return the index of the last night that began before a time.

        A time before the first night is assigned to the first night.
        """
        return max(bisect_right(self.began, moment) - 1, 0)


def panels(rows: Iterable[ControlRow]) -> list[Panel]:
    """Return the controls of all machines as tables, by class and host name.

    Steps that failed or failed their SLA are left out, as are values that are not positive, which
    have no logarithm. A disturbed step is left out if the control's other run in that night was
    undisturbed.
    """
    by_place: dict[ClassMachine, list[ControlRow]] = {}
    for row in rows:
        if row.status == StepStatus.OK and row.value > 0:
            place = ClassMachine(str(row.machine["machine_class"]), str(row.machine["hostname"]))
            by_place.setdefault(place, []).append(row)
    return [_panel(place, found) for place, found in sorted(by_place.items())]


def _panel(place: ClassMachine, rows: list[ControlRow]) -> Panel:
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
        # As in series: a disturbed value is better than none.
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


def _figure(row: ControlRow) -> ControlFigure:
    return ControlFigure(
        row.control,
        row.target,
        row.build_hash,
        row.workload_hash,
        row.step,
        row.group,
        row.unit,
        row.metric,
    )
