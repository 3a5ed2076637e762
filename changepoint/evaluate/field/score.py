"""The questions to every engine on every kind of noise, and their scores.

Alarms, recall and delay are those of ``evaluate.nightly``. This module adds two: F1 on series with
several steps, and how often an interval contains the place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from changepoint.api import detect
from changepoint.evaluate.measure import Rate
from changepoint.evaluate.nightly import MARGIN, SIGMA
from changepoint.evaluate.simulate import Noise, SeriesShape, draw
from changepoint.series import Floats

LENGTH = 400
"""Positions of a series: space for four steps and the distances between them."""
MOST_STEPS = 4
"""Maximum steps of a series; no step is as frequent as four."""
SMALLEST_STEP, LARGEST_STEP = 0.02, 0.10
"""Sizes of the steps, as a fraction of the level: once and five times the noise."""
APART = 30
"""Minimum positions between two steps, and between a step and either end."""


@dataclass(frozen=True, slots=True)
class Matched:
    """Found changes and true steps over all series.

    right: steps with a change within the margin. found: changes. there: steps. A second change at
    the same step is a wrong one.
    """

    right: int
    found: int
    there: int

    @property
    def precision(self) -> float:
        """The share of changes that are right; 1 if there is none."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of steps that were found; 1 if there is none."""
        return self.right / self.there if self.there else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both; 1 if there are neither steps nor changes."""
        both = self.found + self.there
        return 2.0 * self.right / both if both else 1.0


def stepped(noise: Noise, random: np.random.Generator) -> tuple[Floats, list[int]]:
    """A series of 400 positions with 0 to 4 steps of 2 to 10 %, up or down, and their places."""
    values = draw(noise, SeriesShape(LENGTH, 1), random, sigma=SIGMA)
    count = int(random.integers(0, MOST_STEPS + 1))
    # Drawn without the gaps, which are then inserted: every allowed set of places is possible.
    free = np.sort(random.integers(0, LENGTH - APART * (count + 1) + 1, count))
    places = free + APART * np.arange(1, count + 1)
    for place in places.tolist():
        size = random.uniform(SMALLEST_STEP, LARGEST_STEP) * random.choice((-1.0, 1.0))
        values[place:] *= 1.0 + size
    return values, places.tolist()


def match(pairs: Iterable[tuple[list[int], list[int]]]) -> Matched:
    """Count (changes found, steps there) of each series; steps are over two margins apart."""
    right = found = there = 0
    for changes, steps in pairs:
        right += sum(any(abs(change - step) <= MARGIN for change in changes) for step in steps)
        found += len(changes)
        there += len(steps)
    return Matched(right, found, there)


def several(
    indices: Callable[[Floats], list[int]], noise: Noise, trials: int, seed: int
) -> Matched:
    """Run an engine over ``trials`` series with several steps."""
    random = np.random.default_rng(seed)
    drawn = (stepped(noise, random) for _ in range(trials))
    return match((indices(values), steps) for values, steps in drawn)


def located(method: str, noise: Noise, step: float, trials: int, seed: int) -> Rate:
    """How often the interval of the change nearest to a step, if any, contains its place."""
    random = np.random.default_rng(seed)
    held = found = 0
    for _ in range(trials):
        at = int(random.integers(40, 161))
        values = draw(noise, SeriesShape(200, 1), random, sigma=SIGMA, step=step, at=at)
        changes = detect(values, method=method).changes
        if changes:
            found += 1
            best = min(changes, key=lambda change: abs(change.index - at))
            held += int(best.interval[0]) <= at <= int(best.interval[1])
    return Rate(held, max(found, 1))
