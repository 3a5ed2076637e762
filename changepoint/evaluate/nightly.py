"""Simulate nights one after another: new false alarms, found steps, and delay.

Each night appends one position and searches the whole prefix. An alarm counts once, on the first
night that reports it: a change within ``MARGIN`` positions of an earlier alarm is the same alarm.
The confidence limits of nightly rates treat series, not nights, as independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from changepoint.api import detect
from changepoint.evaluate.measure import Rate
from changepoint.evaluate.simulate import Noise, SeriesShape, draw
from changepoint.series import Floats, Ints

MARGIN = 5
"""Maximum distance, in positions, at which a change counts as the true one, or as an earlier
alarm."""

FIRST_NIGHT = 20
"""Positions of a series in the first searched night: shorter series hardly show any step."""
SIGMA = 2.0
"""Noise of a value in percent of the level."""
NEVER = math.inf

Places = Callable[[Floats, Ints], list[int]]
"""The type of a search: from values and their positions to the positions reported as changes."""


@dataclass(frozen=True, slots=True)
class Alarms:
    """New false alarms per 1000 nights, with 95 % limits."""

    rate: float
    low: float
    high: float
    nights: int

    def __str__(self) -> str:
        return f"{self.rate:.2f} ({self.low:.2f}-{self.high:.2f})"


def reported(method: str, alarms_per_1000: float) -> Places:
    """Return a search function that uses a detection method with a given budget of alarms."""

    def places(values: Floats, labels: Ints) -> list[int]:
        positions = None if len(labels) == labels[-1] + 1 else labels
        found = detect(values, positions=positions, alarms_per_1000=alarms_per_1000, method=method)
        return [int(change.position) for change in found.changes]

    return places


def alarms(
    places: Places, noise: Noise, length: int, trials: int, seed: int, replicates: int = 1
) -> Alarms:
    """Return new false alarms in unchanged series that grow to ``length`` positions."""
    random = np.random.default_rng(seed)
    shape = SeriesShape(length, replicates)
    drawn = (draw(noise, shape, random, sigma=SIGMA) for _ in range(trials))
    counts = [_new_alarms(places, values, shape) for values in drawn]
    nights = length - FIRST_NIGHT + 1
    per_night = np.array(counts) / nights * 1000.0
    rate = float(np.mean(per_night))
    # Never narrower than a Poisson count allows, even without any alarm.
    spread = max(
        float(np.std(per_night)) / math.sqrt(trials),
        math.sqrt(sum(counts) + 1.0) / (trials * nights) * 1000.0,
    )
    return Alarms(rate, max(rate - 1.96 * spread, 0.0), rate + 1.96 * spread, trials * nights)


def _new_alarms(places: Places, values: Floats, shape: SeriesShape) -> int:
    labels = shape.labels()
    seen: list[int] = []
    for night in range(FIRST_NIGHT, shape.positions + 1):
        count = night * shape.replicates
        for at in places(values[:count], labels[:count]):
            if all(abs(at - earlier) > MARGIN for earlier in seen):
                seen.append(at)
    return len(seen)


def recall(places: Places, noise: Noise, step: float, trials: int, seed: int) -> Rate:
    """Return how often a step in the middle of a series is found near its place."""
    random = np.random.default_rng(seed)
    hits = 0
    for _ in range(trials):
        at = int(random.integers(40, 161))
        values = draw(noise, SeriesShape(200, 1), random, sigma=SIGMA, step=step, at=at)
        hits += any(abs(found - at) <= MARGIN for found in places(values, np.arange(200)))
    return Rate(hits, trials)


def delays(
    places: Places, noise: Noise, step: float, replicates: int, trials: int, seed: int
) -> tuple[float, float]:
    """Return after how many nights a change of level is found: the median and the 90 % quantile.

    The values are those of ``trials`` simulated series whose level changes by ``step``. The night
    of the change counts as 1. A value is infinite if 40 nights do not suffice.
    """
    random = np.random.default_rng(seed)
    ladder = SeriesShape(140, replicates)
    labels = ladder.labels()
    taken: list[float] = []
    for _ in range(trials):
        values = draw(noise, ladder, random, sigma=SIGMA, step=step, at=100)
        nights = (
            night
            for night in range(1, 41)
            if any(
                abs(found - 100) <= MARGIN
                for found in places(
                    values[: (100 + night) * replicates], labels[: (100 + night) * replicates]
                )
            )
        )
        taken.append(next(nights, NEVER))
    median, late = np.quantile(taken, [0.5, 0.9], method="higher")
    return float(median), float(late)


def coverage(noise: Noise, step: float, trials: int, seed: int) -> tuple[Rate, Rate]:
    """Return how often the intervals of found steps hold the true place and size."""
    random = np.random.default_rng(seed)
    position = effect = found = 0
    for _ in range(trials):
        at = int(random.integers(40, 161))
        values = draw(noise, SeriesShape(200, 1), random, sigma=SIGMA, step=step, at=at)
        changes = detect(values, method="default").changes
        if not changes:
            continue
        best = min(changes, key=lambda c: abs(c.index - at))
        found += 1
        position += int(best.interval[0]) <= at <= int(best.interval[1])
        effect += best.effect_interval[0] <= step <= best.effect_interval[1]
    return Rate(position, max(found, 1)), Rate(effect, max(found, 1))
