"""Series as the median machine of their class would have measured them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import is_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.analyse.environment.offsets import Standing
from pipeline.analyse.environment.panel import Figure, Floats, Place
from pipeline.model import Point, Series, SeriesKey

WORN = 0.10
"""A drift from which on a machine is taken for broken in the figures that drift: what it measures
is left out. A line through what runs away says little of where it is a tenth further on."""

_DAY = timedelta(days=1)

_Alike = Callable[[Figure, SeriesKey], bool]

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
"""Which figures of a control, of the same metric, stand for a series: the first that there are.
Those of the same step are its own; others only say what such steps do on average."""


class Measured(NamedTuple):
    """Where and when a run was measured."""

    place: Place
    at: datetime


@dataclass(frozen=True)
class Course:
    """What a machine did to a series, by night.

    ``divisors`` is what values are divided by, 1.0 for nothing; ``out`` whether nothing is known.
    """

    divisors: list[float]
    out: list[bool]


class Calibration:
    """What is known of the machines, asked by series and run."""

    def __init__(self, standings: Sequence[Standing], smallest: float) -> None:
        self._standings = {one.panel.place: one for one in standings}
        self._smallest = smallest
        self._off = {
            place: nights_off(one, smallest).tolist() for place, one in self._standings.items()
        }
        self._courses: dict[tuple[Place, tuple[str, ...]], Course | None] = {}
        self._nights: dict[Measured, tuple[int, bool]] = {}

    def series(self, series: Series, runs: Mapping[str, Measured]) -> Series:
        """Return a series as the class would have measured it, without what nothing is known of.

        A series that no control says anything of is returned as it is.
        """
        points: list[Point] = []
        for point in series.points:
            run = runs.get(point.run_id)
            course = self.course(series.key, run.place) if run is not None else None
            if run is None or course is None:
                points.append(point)
                continue
            night, off = self._night(run)
            if off or course.out[night]:
                continue
            divisor = course.divisors[night]
            points.append(point if divisor == 1.0 else _divided(point, divisor))
        same = len(points) == len(series.points) and all(map(is_, points, series.points))
        return series if same else series.model_copy(update={"points": tuple(points)})

    def standing(self, place: Place) -> Standing | None:
        """Return what is known of a machine; None of one without controls."""
        return self._standings.get(place)

    def night(self, run: Measured) -> int:
        """Return the column of the panel of its machine that a run belongs to."""
        return self._night(run)[0]

    def _night(self, run: Measured) -> tuple[int, bool]:
        """Return the night of a run, and whether the machine was not itself in it."""
        if run not in self._nights:
            panel = self._standings[run.place].panel
            night = panel.night_at(run.at)
            # Long after the last control nobody knows whether it still is so.
            near = abs(run.at - panel.began[night]) < _DAY
            self._nights[run] = night, near and self._off[run.place][night]
        return self._nights[run]

    def course(self, key: SeriesKey, place: Place) -> Course | None:
        """Return what a machine did to a series; None if no control says anything of it."""
        asked = key.target, key.workload_hash, key.step, key.group, key.unit, key.metric
        if (place, asked) not in self._courses:
            self._courses[place, asked] = self._course(key, place)
        return self._courses[place, asked]

    def _course(self, key: SeriesKey, place: Place) -> Course | None:
        standing = self._standings.get(place)
        if standing is None:
            return None
        figures, own = alike(standing.panel.figures, key)
        if not figures:
            return None
        fit = standing.fit
        # The offset and each change for themselves: figures may agree on one and not on another.
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
        # Of all changes: what was mended since is a step the other way.
        out |= drifting & (np.abs(moved) > math.log1p(WORN))
        return Course(np.exp(sizes[0] + moved).tolist(), out.tolist())


def _divided(point: Point, divisor: float) -> Point:
    # Not validated again: millions of points are, and only a float is another one.
    return Point.model_construct(**(vars(point) | {"value": point.value / divisor}))


def alike(figures: Sequence[Figure], key: SeriesKey) -> tuple[list[int], bool]:
    """Return which figures stand for a series, and whether they are of its own step."""
    of_metric = [at for at, figure in enumerate(figures) if figure.metric == key.metric]
    for fits, own in ALIKE:
        found = [at for at in of_metric if fits(figures[at], key)]
        if found:
            return found, own
    return [], False


def expected(sizes: Floats, own: bool) -> float:
    """Return what is to be expected of a series, given what a change did to figures like it.

    Figures of its own step say it themselves. Of others it is their mean, shrunk by how little
    they agree: m^2 / (m^2 + s^2) of the mean m has the smallest expected square error for a
    further step from the same scatter s. One figure alone says nothing of the scatter, and
    counts half.
    """
    mean = float(sizes.mean())
    if own or mean == 0.0:
        return mean
    scatter = float(sizes.var(ddof=1)) if len(sizes) > 1 else mean**2
    return mean * mean**2 / (mean**2 + scatter)


def nights_off(standing: Standing, smallest: float) -> NDArray[np.bool_]:
    """Return (nights,): whether most figures were far from the level of the machine.

    As far as would be of interest, and further than noise goes. A change that is too young to be
    told from an outage is one until it can be.
    """
    fit, panel = standing.fit, standing.panel
    apart = np.abs(panel.means - fit.start[:, None] - fit.moved)
    limit = np.maximum(3.0 * fit.deviation, math.log1p(smallest))
    there = np.isfinite(apart)
    far = there & (np.nan_to_num(apart) > limit[:, None])
    off: NDArray[np.bool_] = 2 * far.sum(axis=0) > there.sum(axis=0)
    return off
