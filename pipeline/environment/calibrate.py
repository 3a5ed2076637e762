"""Calibration: correct series to what the median machine of their class would have measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.environment.offsets import MachineOffset
from pipeline.environment.panel import ClassMachine, ControlFigure, Floats
from pipeline.model import SeriesKey
from pipeline.storage.series import Ints, RunIndex, Series

WORN = 0.10
"""The relative drift of a series (0.1: 10 %) beyond which calibration drops the values of the
drifting nights. The machine counts as broken then, and a fitted line predicts its level badly."""

_DAY = timedelta(days=1)

_Alike = Callable[[ControlFigure, SeriesKey], bool]

ALIKE: tuple[tuple[_Alike, bool], ...] = (
    (
        lambda figure, key: (
            (figure.target, figure.workload_hash, figure.step)
            == (key.target, key.workload_hash, key.step)
        ),
        True,
    ),
    (
        lambda figure, key: (figure.workload_hash, figure.step) == (key.workload_hash, key.step),
        True,
    ),
    (lambda figure, key: figure.step == key.step, True),
    (lambda figure, key: figure.group == key.group, False),
    (lambda figure, key: figure.unit == key.unit, False),
    (lambda figure, key: True, False),
)
"""Rules that match control figures of the same metric to a series; the first rule with a match
applies. The flag says whether the figures measure the series' own step; other figures only show the
average effect of a machine change on steps of that kind."""


class RunPlace(NamedTuple):
    """Which machine measured a run, and when the run started."""

    place: ClassMachine
    at: datetime


@dataclass(frozen=True)
class Course:
    """The effect of a machine's changes on a series, night by night.

    ``divisors`` are the factors to divide values by (1.0: no effect). ``out`` marks nights whose
    effect is unknown.
    """

    divisors: list[float]
    out: list[bool]


class Calibration:
    """Corrects series for the differences and changes of machines that controls show."""

    def __init__(self, standings: Sequence[MachineOffset], smallest: float) -> None:
        self._standings = {one.panel.place: one for one in standings}
        self._smallest = smallest
        self._off = {
            place: nights_off(one, smallest).tolist() for place, one in self._standings.items()
        }
        self._courses: dict[tuple[ClassMachine, tuple[str, ...]], Course | None] = {}
        self._nights: dict[RunPlace, tuple[int, bool]] = {}
        self._by_index: dict[
            int, tuple[RunIndex, dict[ClassMachine, tuple[Ints, NDArray[np.bool_]]]]
        ] = {}

    def series(self, series: Series, runs: Mapping[str, RunPlace]) -> Series:
        """Return a corrected series, without the nights in which the machine's effect is unknown.

        A series that no control matches is returned unchanged.
        """
        nights = self._run_nights(series.runs, runs)
        values, kept = series.values.copy(), np.ones(len(series.values), dtype=bool)
        for place, (night, off) in nights.items():
            course = self.course(series.key, place)
            if course is None:
                continue
            own = night[series.at]
            mine = own >= 0
            values[mine] /= np.array(course.divisors)[own[mine]]
            kept[mine] = ~(off[series.at[mine]] | np.array(course.out)[own[mine]])
        if kept.all() and np.array_equal(values, series.values):
            return series
        return series.with_values(values).where(kept)

    def standing(self, place: ClassMachine) -> MachineOffset | None:
        """Return how a machine differs from its class; None for a machine without controls."""
        return self._standings.get(place)

    def night(self, run: RunPlace) -> int:
        """Return the night (column of the machine's table of controls) that a run is in."""
        return self._night(run)[0]

    def _run_nights(
        self, index: RunIndex, runs: Mapping[str, RunPlace]
    ) -> dict[ClassMachine, tuple[Ints, NDArray[np.bool_]]]:
        """Return the night of each run by machine, and whether the machine was unusual then.

        Each machine with controls has two arrays (runs,): the number of the night, -1 for runs on
        other machines, and whether most of the machine's controls were far from normal.
        """
        if id(index) not in self._by_index:
            found: dict[ClassMachine, tuple[Ints, NDArray[np.bool_]]] = {}
            for at, run_id in enumerate(index.run_ids):
                run = runs.get(run_id)
                if run is not None and run.place in self._standings:
                    size = len(index.run_ids)
                    nights, off = found.setdefault(
                        run.place, (np.full(size, -1), np.zeros(size, dtype=bool))
                    )
                    nights[at], off[at] = self._night(run)
            # With the index, so that its id is not given to another one.
            self._by_index[id(index)] = index, found
        return self._by_index[id(index)][1]

    def _night(self, run: RunPlace) -> tuple[int, bool]:
        """Return the night of a run, and whether the machine was unusual in that night."""
        if run not in self._nights:
            panel = self._standings[run.place].panel
            night = panel.night_at(run.at)
            # A control more than a day away says nothing about whether the machine is still off.
            near = abs(run.at - panel.began[night]) < _DAY
            self._nights[run] = night, near and self._off[run.place][night]
        return self._nights[run]

    def course(self, key: SeriesKey, place: ClassMachine) -> Course | None:
        """Return a machine's effect on a series in each night; None if no control resembles it."""
        asked = key.target, key.workload_hash, key.step, key.group, key.unit, key.metric
        if (place, asked) not in self._courses:
            self._courses[place, asked] = self._course(key, place)
        return self._courses[place, asked]

    def _course(self, key: SeriesKey, place: ClassMachine) -> Course | None:
        standing = self._standings.get(place)
        if standing is None:
            return None
        figures, own = alike(standing.panel.figures, key)
        if not figures:
            return None
        fit = standing.fit
        # Estimate the offset and each change separately: figures may agree on one but not on
        # another.
        parts = np.column_stack([standing.offsets[figures], fit.sizes[figures]])
        sizes = np.array([expected(part, own) for part in parts.T])
        moved = sizes[1:] @ fit.courses
        out = np.zeros(len(moved), dtype=bool)
        drifting = np.zeros(len(moved), dtype=bool)
        for change, size, course in zip(fit.changes, sizes[1:], fit.courses, strict=True):
            if change.ramp:
                drifting |= size * course != 0.0
            elif abs(size) >= math.log1p(self._smallest):
                out[change.earliest : change.latest] = True
        # Use the sum of all changes: a later repair is a step in the opposite direction.
        out |= drifting & (np.abs(moved) > math.log1p(WORN))
        return Course(np.exp(sizes[0] + moved).tolist(), out.tolist())


def alike(figures: Sequence[ControlFigure], key: SeriesKey) -> tuple[list[int], bool]:
    """Return the control figures that resemble a series, and whether they are of the same step."""
    of_metric = [at for at, figure in enumerate(figures) if figure.metric == key.metric]
    for fits, own in ALIKE:
        found = [at for at in of_metric if fits(figures[at], key)]
        if found:
            return found, own
    return [], False


def expected(sizes: Floats, own: bool) -> float:
    """Estimate the effect of a machine change on a series from its effects on control figures.

    With ``own``, the figures are of the series' own step, and their effects are averaged. Otherwise
    the mean is shrunk by their disagreement: with mean m and scatter s, the factor m^2 / (m^2 +
    s^2) has the smallest expected squared error for a further step. A single figure has no scatter
    and counts half.
    """
    mean = float(sizes.mean())
    if own or mean == 0.0:
        return mean
    scatter = float(sizes.var(ddof=1)) if len(sizes) > 1 else mean**2
    return mean * mean**2 / (mean**2 + scatter)


def nights_off(standing: MachineOffset, smallest: float) -> NDArray[np.bool_]:
    """Return in which nights most control figures were far from normal.

    Returns (nights,).

    A figure is far from normal if it deviates by more than the smallest change of interest and by
    more than three standard deviations of a night. A change too recent to distinguish from an
    outage counts as an outage.
    """
    fit, panel = standing.fit, standing.panel
    apart = np.abs(panel.means - fit.start[:, None] - fit.moved)
    limit = np.maximum(3.0 * fit.deviation, math.log1p(smallest))
    there = np.isfinite(apart)
    far = there & (np.nan_to_num(apart) > limit[:, None])
    off: NDArray[np.bool_] = 2 * far.sum(axis=0) > there.sum(axis=0)
    return off
