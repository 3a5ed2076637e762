"""Choose which revision to measure next, to find the one that changed a noisy level.

Between a revision known to be good and one known to be bad lies the first bad one, the culprit.
Every revision before it has the good level and every one from it on the bad level, but measurements
have noise and some revisions do not build. The search therefore keeps a posterior over the
culprit's place (:mod:`changepoint.bisection.fit`) and measures where the information per cost is
largest, instead of halving blindly (Horstein 1963; Waeber, Frazier and Henderson 2013; Lindley 1956
for the information of an experiment). ``docs/guide/bisection.md`` has the method and its measured
figures.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from changepoint.bisection.fit import BUILD_SPREAD, CulpritFit, fit, information
from changepoint.series import LARGEST, Floats

BUILD_COST = 4.0
"""Default cost of a build, in runs."""

AHEAD = (1, 2, 4, 8, 16)
"""Numbers of runs to consider for a new build, because its runs share the cost of the build."""

REFERENCE = 5
"""Of this many consecutive runs, at least one measures the good or the bad end again: repeating a
known revision shows how far the machine drifted."""

NOTHING = 1e-9
"""Information, in nats, that counts as zero: rounding errors if the levels of the ends are
equal."""


@dataclass(frozen=True, slots=True)
class CulpritRange:
    """A range of revisions that contains the culprit with a given probability.

    Attributes:
        last_good: the last position that counts as good.
        first_bad: the first position that counts as bad. The culprit lies above ``last_good`` and
            is at most ``first_bad``.
        probability: probability that the culprit is in this range.
        effects: relative change of every series at the culprit, by name.
        done: whether the search is finished: the probability reached the required confidence, and
            no position in between can be built, so no run can give more information.
    """

    last_good: int
    first_bad: int
    probability: float
    effects: Mapping[str, float]
    done: bool


class Bisection:
    """A search for the one revision, among ``count`` in order, that changed the level.

    Position 0 is the good revision and the last one the bad: their difference must have been shown
    before (:class:`changepoint.Sequential`), because the search assumes it. Several series that the
    culprit changes together are searched together. Runs are added in the order of measurement, from
    which the drift of the machine is estimated (``in_order``).
    """

    def __init__(
        self,
        count: int,
        series: Sequence[str] = ("value",),
        *,
        confidence: float = 0.99,
        noise: float = 0.02,
        build_spread: float = BUILD_SPREAD,
        in_order: bool = True,
    ) -> None:
        """Begin a search without any runs.

        Args:
            count: number of positions, including the good and the bad one; at least 2.
            series: names of the series; each run has a value of every series.
            confidence: probability at which the search is done.
            noise: initial guess of the relative noise of one run; measurements replace it.
            build_spread: see :data:`changepoint.bisection.fit.BUILD_SPREAD`.
            in_order: whether runs are added in the order in which they were made, one after the
                other on one machine. If not, as with the runs of many nights, the machine is
                assumed not to drift.

        Raises:
            ValueError: an option is out of range. The message is one sentence.
        """
        if type(count) is not int or count < 2:
            raise ValueError(f"count must be at least 2 positions, not {count}")
        if not series or len(set(series)) != len(series):
            raise ValueError("series must name at least one series, each name once")
        if not 0.5 <= confidence < 1.0:
            raise ValueError(f"confidence must be at least 0.5 and below 1, not {confidence}")
        for name, value in (("noise", noise), ("build_spread", build_spread)):
            if not 0.0 < value < 1.0:
                raise ValueError(f"{name} must be above 0 and below 1, not {value}")
        self._count, self._series = count, tuple(series)
        self._confidence, self._noise = float(confidence), float(noise)
        self._build_spread, self._in_order = float(build_spread), bool(in_order)
        self._order: list[int] = []
        self._values: list[tuple[float, ...]] = []
        self._runs: Counter[int] = Counter()
        self._skipped: set[int] = set()
        self._known: CulpritFit | None = None

    @property
    def runs(self) -> int:
        """The number of runs added to the search so far."""
        return len(self._order)

    @property
    def measured(self) -> tuple[int, ...]:
        """The positions that have runs, ascending."""
        return tuple(sorted(self._runs))

    def add(self, position: int, run: Mapping[str, float]) -> None:
        """Add a run at a position: its value of every series.

        Raises:
            ValueError: there is no such position, a series is missing, or a value is not above zero
                or beyond 1e300. The message is one sentence; the state is unchanged.
        """
        self._check(position)
        if set(run) != set(self._series):
            raise ValueError(
                f"a run must have a figure for each of {', '.join(self._series)}, not for "
                f"{', '.join(run)}"
            )
        figures = [float(run[name]) for name in self._series]
        if not all(0.0 < figure <= LARGEST for figure in figures):
            raise ValueError(f"figures must be above zero and at most {LARGEST:g}, not {figures}")
        self._append(position, tuple(map(math.log, figures)))

    def skip(self, position: int) -> None:
        """Exclude a position from the search, because its build fails.

        Raises:
            ValueError: there is no such position, it is one of the ends, or it was measured.
        """
        self._check(position)
        if position in (0, self._count - 1) or position in self._runs:
            raise ValueError(
                f"position {position} cannot be skipped: it is an end of the range or already "
                "measured"
            )
        self._skipped.add(position)

    @property
    def culprit(self) -> CulpritRange:
        """The most likely range of the culprit, as narrow as the measurable revisions allow."""
        places = self._places()
        mass = self._mass(places)
        best = int(np.argmax(mass))
        return self._culprit(places, best, best + 1, float(mass[best]))

    def range(self, probability: float = 0.95) -> CulpritRange:
        """Return the smallest range that holds the culprit with a given probability.

        Raises:
            ValueError: the probability is not above 0 and below 1.
        """
        if not 0.0 < probability < 1.0:
            raise ValueError(f"probability must be above 0 and below 1, not {probability}")
        places = self._places()
        below = np.concatenate([[0.0], np.cumsum(self._mass(places))])
        # Rounding must not hide the only range.
        wanted = below[:-1] + probability * below[-1]
        ends = np.searchsorted(below, wanted * (1.0 - 1e-12))
        starts = np.flatnonzero(ends < len(below))
        ends = ends[starts]
        held = below[ends] - below[starts]
        best = int(np.lexsort((-held, places[ends] - places[starts]))[0])
        return self._culprit(places, int(starts[best]), int(ends[best]), float(held[best]))

    def next(self, builds: Sequence[float] | Floats | None = None) -> int:
        """Return the position at which another run gives the most information for its cost.

        Args:
            builds: cost of the build of every position, in runs; 0 for an existing one. By default
                :data:`BUILD_COST` for each position that was not measured.

        Raises:
            ValueError: the costs are not one for each position, or a cost is below zero.
        """
        costs = self._costs(builds)
        last = self._count - 1
        rarer = 0 if self._runs[0] <= self._runs[last] else last
        unseen = self._in_order and not {0, last} & set(self._order[1 - REFERENCE :])
        if unseen or not self._runs[rarer]:
            return rarer
        places = self._places()
        below = np.clip(np.cumsum(self._mass(places))[:-1], 0.0, 1.0)
        inner = places[1:-1]
        gained = np.zeros(len(inner))
        for ahead in AHEAD:
            gain = information(below, self._separations(inner, ahead))
            gained = np.maximum(gained, gain / (costs[inner] + ahead))
        if not len(gained) or gained.max() < NOTHING:
            return rarer
        best = int(inner[int(np.argmax(gained))])
        # A position is compared with the levels of the ends: if these were less certain than the
        # position, its runs would give little information.
        return best if self._runs[rarer] > self._runs[best] else rarer

    def _check(self, position: int) -> None:
        if type(position) is not int or not 0 <= position < self._count:
            raise ValueError(f"position must be from 0 to {self._count - 1}, not {position}")

    def _append(self, position: int, logarithms: tuple[float, ...]) -> None:
        self._skipped.discard(position)
        self._order.append(position)
        self._values.append(logarithms)
        self._runs[position] += 1
        self._known = None

    def _costs(self, builds: Sequence[float] | Floats | None) -> Floats:
        if builds is None:
            costs = np.full(self._count, BUILD_COST)
            costs[list(self._runs)] = 0.0
            return costs
        costs = np.asarray(builds, dtype=np.float64)
        if costs.shape != (self._count,) or not np.all((costs >= 0.0) & (costs <= LARGEST)):
            raise ValueError(f"builds must be a list of {self._count} build costs, each at least 0")
        return costs

    def _places(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.array([at for at in range(self._count) if at not in self._skipped])

    def _mass(self, places: np.ndarray[Any, np.dtype[np.int64]]) -> Floats:
        """Return the probability that the culprit is between neighbouring measured places.

        The prior is uniform over the positions.
        """
        known = self._fit()
        # All places between two measured positions have one likelihood.
        within = np.searchsorted(known.places, places[1:]) - 1
        mass = np.diff(places) * np.exp(known.loglik[within] - known.loglik.max())
        total: Floats = mass / mass.sum()
        return total

    def _culprit(
        self,
        places: np.ndarray[Any, np.dtype[np.int64]],
        start: int,
        end: int,
        probability: float,
    ) -> CulpritRange:
        effects = zip(self._series, self._fit().effects, strict=True)
        return CulpritRange(
            last_good=int(places[start]),
            first_bad=int(places[end]),
            probability=min(probability, 1.0),
            effects={name: math.expm1(float(effect)) for name, effect in effects},
            done=end == start + 1 and probability >= self._confidence,
        )

    def _separations(self, places: np.ndarray[Any, np.dtype[np.int64]], ahead: int) -> Floats:
        """Return by how many deviations the levels will differ after ``ahead`` more runs."""
        known = self._fit()
        runs = np.array([self._runs[int(at)] for at in places])[:, None]
        noise, spread = known.noise[None, :] ** 2, self._build_spread**2
        now = np.where(runs > 0, 1.0 / (noise / np.maximum(runs, 1) + spread), 0.0)
        then = 1.0 / (noise / (runs + ahead) + spread)
        apart = ((then - now) * known.effects[None, :] ** 2).sum(axis=1) * known.share
        return np.asarray(np.sqrt(apart), dtype=np.float64)

    def _fit(self) -> CulpritFit:
        if self._known is None:
            self._known = fit(
                np.array(self._order, dtype=np.int64),
                np.array(self._values).reshape(-1, len(self._series)),
                self._count,
                self._noise,
                self._build_spread,
                self._in_order,
            )
        return self._known

    def to_dict(self) -> dict[str, Any]:
        """Return the whole search as plain dicts, lists, strings and finite numbers."""
        return {
            "count": self._count,
            "series": list(self._series),
            "confidence": self._confidence,
            "noise": self._noise,
            "build_spread": self._build_spread,
            "in_order": self._in_order,
            "runs": [[at, *run] for at, run in zip(self._order, self._values, strict=True)],
            "skipped": sorted(self._skipped),
        }

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """Read a search back from :meth:`to_dict`. Raises ValueError if it is invalid."""
        try:
            copy = cls(
                tree["count"],
                tuple(str(name) for name in tree["series"]),
                confidence=float(tree["confidence"]),
                noise=float(tree["noise"]),
                build_spread=float(tree["build_spread"]),
                in_order=bool(tree["in_order"]),
            )
            for at, *run in tree["runs"]:
                copy._check(at)
                logarithms = tuple(float(value) for value in run)
                if len(logarithms) != len(copy._series) or not all(map(math.isfinite, logarithms)):
                    raise ValueError(f"the run at position {at} is invalid: {run}")
                copy._append(at, logarithms)
            for at in tree["skipped"]:
                copy.skip(at)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the saved state of the bisection is invalid: {error!r}") from error
        return copy

    def to_json(self) -> str:
        """Return the whole search as standard JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a search back from the text of :meth:`to_json`."""
        return cls.from_dict(json.loads(text))
