"""Simulate whether steps of the reported detectable size are really found."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from changepoint.api import detect
from changepoint.detection.power import FRESH
from changepoint.evaluate.labelled import margin_of
from changepoint.evaluate.measure import Rate
from changepoint.evaluate.nightly import SIGMA
from changepoint.evaluate.simulate import NOISES, Noise, SeriesShape, draw
from changepoint.series import Floats

POSITIONS = (4, 8, 12, 20, 21, 30, 45, 100, 200)
"""Positions of the series, on both sides of ``default.LADDER``."""
REPLICATES = (1, 2, 3, 5)
"""Runs per position."""


@dataclass(frozen=True, slots=True)
class Power:
    """How often steps of the reported detectable size are found, and that size."""

    found: Rate
    reported: float

    def __str__(self) -> str:
        if not self.found.trials:
            return "none"
        return f"{self.found.value:.2f} of {100 * self.reported:.1f} %"


def power(
    noise: Noise,
    ladder: SeriesShape,
    trials: int,
    seed: int,
    *,
    fresh: bool = False,
    min_effect: float = 0.0,
) -> Power:
    """Return how often steps of the detectable size are found in similar series.

    The step is a drop in the middle or, if ``fresh``, before the last positions.
    """
    random = np.random.default_rng(seed)
    at = ladder.positions - min(FRESH if fresh else ladder.positions, ladder.positions // 2)
    labels = None if ladder.replicates == 1 else ladder.labels()
    found, sizes = 0, []
    for _ in range(trials):
        unchanged = draw(noise, ladder, random, sigma=SIGMA)
        result = detect(unchanged, positions=labels, min_effect=min_effect)
        size = result.detectable_fresh if fresh else result.detectable_effect
        if math.isinf(size):
            continue
        sizes.append(size)
        values = draw(noise, ladder, random, sigma=SIGMA, step=-size, at=at)
        found += is_found(values, ladder, at, min_effect)
    return Power(Rate(found, len(sizes)), float(np.median(sizes)) if sizes else math.inf)


def is_found(values: Floats, shape: SeriesShape, at: int, min_effect: float = 0.0) -> bool:
    """Return whether a loss is found near position ``at``, or with ``at`` in its interval."""
    labels = None if shape.replicates == 1 else shape.labels()
    margin = margin_of(shape.positions)
    return any(
        change.effect < 0
        and (
            int(change.interval[0]) <= at <= int(change.interval[1])
            or abs(change.index // shape.replicates - at) <= margin
        )
        for change in detect(values, positions=labels, min_effect=min_effect).changes
        if change.kind == "level"
    )


def power_table(trials: int, seed: int, kinds: Sequence[str]) -> Iterator[str]:
    """Yield a table: how often steps of the detectable size are found, by noise, place, length."""
    yield "| noise | step | replicates | " + " | ".join(map(str, POSITIONS)) + " |"
    yield "| --- | --- | --- |" + " --- |" * len(POSITIONS)
    for name in kinds:
        for fresh in (False, True):
            for replicates in REPLICATES:
                row = (
                    str(power(NOISES[name], SeriesShape(n, replicates), trials, seed, fresh=fresh))
                    for n in POSITIONS
                )
                place = "fresh" if fresh else "middle"
                yield f"| {name} | {place} | {replicates} | " + " | ".join(row) + " |"
