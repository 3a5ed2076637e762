"""Score how well each compared program finds simulated changes.

``evaluate.nightly`` scores alarms, recall and delay. This module adds two scores: F1 on series with
several steps, and how often an interval contains the true place.
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
"""Maximum steps of a series. All numbers of steps from none to four are equally frequent."""
SMALLEST_STEP, LARGEST_STEP = 0.02, 0.10
"""Sizes of the steps, as a fraction of the level: once and five times the noise."""
APART = 30
"""Minimum positions between two steps, and between a step and either end."""


@dataclass(frozen=True, slots=True)
class Matched:
    """How many found changes are right, and how many true steps were found.

    right: true steps with a found change within the margin. found: all found changes. there: all
    true steps. A second change at the same step counts as wrong.
    """

    right: int
    found: int
    there: int

    @property
    def precision(self) -> float:
        """The share of found changes that are true; 1 if none was found."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of true steps that were found; 1 if there are none."""
        return self.right / self.there if self.there else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.found + self.there
        return 2.0 * self.right / both if both else 1.0


def stepped(noise: Noise, random: np.random.Generator) -> tuple[Floats, list[int]]:
    """Return a simulated series with up to four steps, and where they are."""
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
    """Count which found changes belong to which true steps."""
    right = found = there = 0
    for changes, steps in pairs:
        right += sum(any(abs(change - step) <= MARGIN for change in changes) for step in steps)
        found += len(changes)
        there += len(steps)
    return Matched(right, found, there)


def several(
    indices: Callable[[Floats], list[int]], noise: Noise, trials: int, seed: int
) -> Matched:
    """Let a program search ``trials`` simulated series with several steps."""
    random = np.random.default_rng(seed)
    drawn = (stepped(noise, random) for _ in range(trials))
    return match((indices(values), steps) for values, steps in drawn)


def located(method: str, noise: Noise, step: float, trials: int, seed: int) -> Rate:
    """Return how often the interval of a found change holds the place of the true step."""
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
