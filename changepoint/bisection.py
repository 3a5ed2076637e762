"""Noisy bisection: which of many revisions changed the level, in as few builds as possible.

Between a revision known to be good and one known to be bad lies the first bad one, the culprit.
Every revision before it has the good level and every one from it on the bad level, but a
measurement has noise and some revisions do not build. So the search keeps a posterior over the
culprit's place and measures where that is worth most (Horstein 1963, Waeber, Frazier and
Henderson 2013; MacKay 1992 for the information of an experiment), instead of halving blindly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from changepoint.series import LARGEST, Floats

TAIL = 4.0
"""Degrees of freedom, for each run of a position, of the t distribution that the deviation of
its level is taken from: one spike must not decide the search, many runs may."""

BUILD_SPREAD = 0.003
"""Relative spread of the levels of builds that do not differ in what they measure: another layout
of the same code moves its speed by some tenths of a percent, and no repetition averages it away."""

GUESS_WEIGHT = 4.0
"""Repetitions that the guess of the noise counts for, beside those that were measured."""

ROUNDS = 8
"""Rounds of reweighting for a location; more than that moves no digit that matters."""

NODES = 24
"""Nodes of the quadrature of the information; exact to 1e-6 for separations up to 10."""


@dataclass(frozen=True, slots=True)
class Culprit:
    """Where the culprit lies, as far as is known.

    Attributes:
        last_good: the last position that is taken for good.
        first_bad: the first position that is taken for bad. Those in between cannot be built, so
            nothing can tell which of them, or ``first_bad``, it is.
        probability: that the culprit lies above ``last_good`` and up to ``first_bad``.
        effects: relative change of every series there, by name.
        done: the probability reached the confidence that was asked for.
    """

    last_good: int
    first_bad: int
    probability: float
    effects: Mapping[str, float]
    done: bool


class Bisection:
    """A search for one culprit among ``count`` positions in order.

    Position 0 is the good revision and the last one the bad: their difference should have been
    shown before (:class:`changepoint.Sequential`), since the search takes it for granted. Several
    series that the culprit moves together are searched together.
    """

    def __init__(
        self,
        count: int,
        series: Sequence[str] = ("value",),
        *,
        confidence: float = 0.99,
        noise: float = 0.02,
        build_spread: float = BUILD_SPREAD,
    ) -> None:
        """Start without a measurement.

        Args:
            count: positions, both known ones included; at least 2.
            series: their names; a run gives one figure for each.
            confidence: probability at which the search is done.
            noise: guess of the relative noise of one run; what is measured replaces it.
            build_spread: see :data:`BUILD_SPREAD`.

        Raises:
            ValueError: an option is out of range. One sentence.
        """
        if type(count) is not int or count < 2:
            raise ValueError(f"count must be at least 2 positions, not {count}")
        if not series or len(set(series)) != len(series):
            raise ValueError("series must be one or more different names")
        if not 0.5 <= confidence < 1.0:
            raise ValueError(f"confidence must be at least 0.5 and below 1, not {confidence}")
        for name, value in (("noise", noise), ("build_spread", build_spread)):
            if not 0.0 < value < 1.0:
                raise ValueError(f"{name} must be above 0 and below 1, not {value}")
        self._count, self._series = count, tuple(series)
        self._confidence, self._noise = float(confidence), float(noise)
        self._build_spread = float(build_spread)
        self._runs: dict[int, list[list[float]]] = {}
        self._skipped: set[int] = set()

    @property
    def runs(self) -> int:
        """How many runs were added."""
        return sum(len(runs) for runs in self._runs.values())

    @property
    def measured(self) -> tuple[int, ...]:
        """The positions that were measured, ascending."""
        return tuple(sorted(self._runs))

    def add(self, position: int, run: Mapping[str, float]) -> None:
        """Add one run of a position: a figure above zero for every series.

        Raises:
            ValueError: there is no such position, a series is missing, or a figure is not above
                zero or beyond 1e300. One sentence; the state is unchanged.
        """
        self._check(position)
        if set(run) != set(self._series):
            raise ValueError(
                f"a run has figures for {', '.join(self._series)}, not {', '.join(run)}"
            )
        figures = [float(run[name]) for name in self._series]
        if not all(0.0 < figure <= LARGEST for figure in figures):
            raise ValueError(f"figures must be above zero and at most 1e300, not {figures}")
        self._skipped.discard(position)
        self._runs.setdefault(position, []).append([math.log(figure) for figure in figures])

    def skip(self, position: int) -> None:
        """Say that a position cannot be measured, for it does not build.

        Raises:
            ValueError: there is no such position, it is one of the ends, or it was measured.
        """
        self._check(position)
        if position in (0, self._count - 1) or position in self._runs:
            raise ValueError(
                f"position {position} is an end or was measured, and cannot be skipped"
            )
        self._skipped.add(position)

    @property
    def culprit(self) -> Culprit:
        """What is known now."""
        places = self._measurable()
        mass = self._cells(places)
        best = int(np.argmax(mass))
        fit = self._fit()
        effects = {
            name: math.expm1(float(bad - good))
            for name, good, bad in zip(self._series, *fit.levels, strict=True)
        }
        probability = float(mass[best])
        return Culprit(
            last_good=places[best],
            first_bad=places[best + 1],
            probability=probability,
            effects=effects,
            done=probability >= self._confidence,
        )

    def next(self, costs: Sequence[float] | Floats | None = None) -> int:
        """Return the position whose next run tells most for its cost.

        Args:
            costs: of one run of every position, in any unit, the build included where there is
                none yet. By default a run of a position that was not measured costs four others.

        Raises:
            ValueError: costs of another length, or not above zero.
        """
        price = self._costs(costs)
        for end in (0, self._count - 1):
            if end not in self._runs:
                return end
        places = np.array(self._measurable())
        below = np.concatenate([[0.0], np.cumsum(self._cells(places.tolist()))])
        gained = _information(np.clip(below, 0.0, 1.0), self._separations(places))
        # The ends are known; another run of them only sharpens the levels.
        gained[[0, -1]] = 0.0
        return int(places[int(np.argmax(gained / price[places]))])

    def _check(self, position: int) -> None:
        if type(position) is not int or not 0 <= position < self._count:
            raise ValueError(f"position must be from 0 to {self._count - 1}, not {position}")

    def _costs(self, costs: Sequence[float] | Floats | None) -> Floats:
        if costs is None:
            return np.array([1.0 if at in self._runs else 4.0 for at in range(self._count)])
        price = np.asarray(costs, dtype=np.float64)
        if price.shape != (self._count,) or not np.all(price > 0.0):
            raise ValueError(f"costs must be {self._count} numbers above zero")
        return price

    def _measurable(self) -> list[int]:
        return [at for at in range(self._count) if at not in self._skipped]

    def _cells(self, places: Sequence[int]) -> Floats:
        """Return the posterior of the culprit lying in (places[i], places[i + 1]]."""
        fit = self._fit()
        edges = np.array(places)
        # A cell lies between two measured positions, all of whose places have one likelihood.
        within = np.searchsorted(fit.places, edges[1:]) - 1
        mass = np.diff(edges) * np.exp(fit.loglik[within] - fit.loglik.max())
        total: Floats = mass / mass.sum()
        return total

    def _separations(self, places: Floats) -> Floats:
        """Return how many standard deviations apart the levels are in one more run of each."""
        fit = self._fit()
        distance = np.abs(fit.levels[1] - fit.levels[0])
        runs = np.array([len(self._runs.get(int(at), ())) for at in places])[:, None]
        noise = fit.noise[None, :] ** 2
        now = np.where(runs > 0, 1.0 / (noise / np.maximum(runs, 1) + self._build_spread**2), 0.0)
        then = 1.0 / (noise / (runs + 1) + self._build_spread**2)
        apart: Floats = np.sqrt(((then - now) * distance[None, :] ** 2).sum(axis=1))
        return apart

    def _fit(self) -> _Fit:
        places = np.array(self.measured)
        if not {0, self._count - 1} <= set(self.measured):
            # Nothing is known before both ends are: all places are alike.
            ends = np.array([0, self._count - 1])
            nothing = np.zeros(len(self._series))
            return _Fit(ends, np.zeros(1), (nothing, nothing), np.full(len(nothing), self._noise))
        counts = np.array([len(self._runs[int(at)]) for at in places], dtype=np.float64)
        noise = self._estimated_noise()
        loglik = np.zeros(len(places) - 1)
        levels = np.zeros((len(places) - 1, 2, len(self._series)))
        for j in range(len(self._series)):
            middles = np.array(
                [np.median([run[j] for run in self._runs[int(at)]]) for at in places]
            )
            errors = np.sqrt(noise[j] ** 2 / counts + self._build_spread**2)
            for split in range(len(places) - 1):
                for side, part in enumerate((slice(0, split + 1), slice(split + 1, None))):
                    level, fitted = _location(middles[part], errors[part], TAIL * counts[part])
                    loglik[split] += fitted
                    levels[split, side, j] = level
        best = levels[int(np.argmax(loglik))]
        return _Fit(places, loglik, (best[0], best[1]), noise)

    def _estimated_noise(self) -> Floats:
        """Return the noise of one run of each series, from repetitions of positions."""
        spread, freedom = np.full(len(self._series), GUESS_WEIGHT * self._noise**2), GUESS_WEIGHT
        for runs in self._runs.values():
            values = np.array(runs)
            if len(values) > 1:
                # By the median of the deviations: a spike is not the usual noise.
                deviation = np.median(np.abs(values - np.median(values, axis=0)), axis=0) * 1.4826
                spread += (len(values) - 1) * deviation**2
                freedom += len(values) - 1
        estimated: Floats = np.sqrt(spread / freedom)
        return estimated

    def to_dict(self) -> dict[str, Any]:
        """The whole state as a tree of plain dicts, lists, strings and finite numbers."""
        return {
            "count": self._count,
            "series": list(self._series),
            "confidence": self._confidence,
            "noise": self._noise,
            "build_spread": self._build_spread,
            "runs": [[at, *map(list, runs)] for at, runs in sorted(self._runs.items())],
            "skipped": sorted(self._skipped),
        }

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_dict`. Raises ValueError if something is missing or odd."""
        try:
            copy = cls(
                tree["count"],
                tuple(str(name) for name in tree["series"]),
                confidence=float(tree["confidence"]),
                noise=float(tree["noise"]),
                build_spread=float(tree["build_spread"]),
            )
            for at, *runs in tree["runs"]:
                for run in runs:
                    figures = dict(zip(copy._series, map(math.exp, run), strict=True))
                    copy.add(at, figures)
                # Not through exp and log again, which would move the last digit.
                copy._runs[at] = [[float(value) for value in run] for run in runs]
            for at in tree["skipped"]:
                copy.skip(at)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"not a bisection: {error!r}") from error
        return copy

    def to_json(self) -> str:
        """:meth:`to_dict` as standard JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of :meth:`to_json`."""
        return cls.from_dict(json.loads(text))


@dataclass(frozen=True, slots=True)
class _Fit:
    """What the runs say.

    The measured places, the log likelihood of a culprit between each and the next (k - 1,), the
    levels before and after the likeliest, and the noise of one run, both by series.
    """

    places: Floats
    loglik: Floats
    levels: tuple[Floats, Floats]
    noise: Floats


def _location(values: Floats, errors: Floats, freedom: Floats) -> tuple[float, float]:
    """Return the t location of values with these standard errors, and its log likelihood.

    The location is integrated out by Laplace's approximation under a flat prior, so that a split
    with few values on one side has no advantage from fitting them better.
    """
    weights = 1.0 / errors**2
    level = float(np.average(values, weights=weights))
    for _ in range(ROUNDS):
        z2 = ((values - level) / errors) ** 2
        level = float(np.average(values, weights=weights * (freedom + 1.0) / (freedom + z2)))
    z2 = ((values - level) / errors) ** 2
    density = -0.5 * (freedom + 1.0) * np.log1p(z2 / freedom) - np.log(errors)
    return level, float(density.sum()) - 0.5 * math.log(float(weights.sum()))


def _information(below: Floats, separation: Floats) -> Floats:
    """Return what a measurement tells, in nats, of whether the culprit is at or below its place.

    below: (n,) probabilities that it is. separation: (n,) of the two levels, in standard
    deviations. The mutual information of a binary input and a channel with Gaussian noise.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    q, d = below[:, None], separation[:, None]
    # The logarithm of the likelihood ratio is normal, with mean -d^2/2 or d^2/2 and deviation d.
    ratio_good, ratio_bad = d * nodes - d**2 / 2.0, d * nodes + d**2 / 2.0
    good = -np.log((1.0 - q) + q * np.exp(ratio_good))
    bad = ratio_bad - np.log((1.0 - q) + q * np.exp(ratio_bad))
    told: Floats = ((1.0 - q) * good + q * bad) @ weights
    return np.maximum(told, 0.0)
