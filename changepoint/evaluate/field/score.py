"""What is asked of every engine on every kind of noise, and how the answers are counted.

Alarms, recall and delay are those of ``evaluate.nightly``. Here are the two that it does not have
for any engine: F1 on series of several steps, and how often an interval holds the place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from changepoint.api import detect
from changepoint.evaluate.measure import Rate
from changepoint.evaluate.nightly import MARGIN, SIGMA
from changepoint.evaluate.simulate import Ladder, Noise, draw
from changepoint.series import Floats

LENGTH = 400
MOST_STEPS = 4
SMALLEST_STEP, LARGEST_STEP = 0.02, 0.10
APART = 30
"""Positions between two steps, and between a step and either end, at least."""


@dataclass(frozen=True, slots=True)
class Matched:
    """Of changes that were found, and steps that are there, over all series.

    right: steps with a change within the margin. found: changes. there: steps. A second change
    at the same step is a wrong one.
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
        """The harmonic mean of both; 1 if there is nothing to find and nothing was."""
        both = self.found + self.there
        return 2.0 * self.right / both if both else 1.0


def stepped(noise: Noise, random: np.random.Generator) -> tuple[Floats, list[int]]:
    """A series of 400 positions with 0 to 4 steps of 2 to 10 %, up or down, and their places."""
    values = draw(noise, Ladder(LENGTH, 1), random, sigma=SIGMA)
    count = int(random.integers(0, MOST_STEPS + 1))
    # Drawn without the gaps, which are then put in: every allowed set of places can come.
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
    """Run an engine over ``trials`` series of several steps."""
    random = np.random.default_rng(seed)
    drawn = (stepped(noise, random) for _ in range(trials))
    return match((indices(values), steps) for values, steps in drawn)


def located(method: str, noise: Noise, step: float, trials: int, seed: int) -> Rate:
    """How often the interval of the change nearest to a step holds its place, if there is one."""
    random = np.random.default_rng(seed)
    held = found = 0
    for _ in range(trials):
        at = int(random.integers(40, 161))
        values = draw(noise, Ladder(200, 1), random, sigma=SIGMA, step=step, at=at)
        changes = detect(values, method=method).changes
        if changes:
            found += 1
            best = min(changes, key=lambda change: abs(change.index - at))
            held += int(best.interval[0]) <= at <= int(best.interval[1])
    return Rate(held, max(found, 1))
