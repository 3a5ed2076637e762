"""Simulate the first night after a change: how often it is found at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from changepoint.api import detect
from changepoint.evaluate import nightly
from changepoint.evaluate.measure import Rate
from changepoint.evaluate.simulate import NOISES, Noise, SeriesShape, draw

POSITIONS = (10, 21, 40, 100, 500)
"""Positions of the series; the step is at the last one."""
STEPS = (-0.1, -0.2, -0.5)
"""Relative sizes of the step."""
REPLICATES = 3
"""Runs of each position."""
ALARM_POSITIONS = 100
"""Positions to which unchanged series grow."""


def found(noise: Noise, positions: int, step: float, trials: int, seed: int) -> Rate:
    """Return how often a step at the newest position is found there."""
    random = np.random.default_rng(seed)
    shape = SeriesShape(positions, REPLICATES)
    hits = 0
    for _ in range(trials):
        values = draw(noise, shape, random, sigma=nightly.SIGMA, step=step, at=positions - 1)
        changes = detect(values, positions=shape.labels()).changes
        hits += any(one.kind == "level" and one.position == positions - 1 for one in changes)
    return Rate(hits, trials)


def newest_table(trials: int, seed: int, kinds: Sequence[str]) -> Iterator[str]:
    """Yield a table: how often steps are found in their first night, by noise.

    The last column has the false alarms of the whole search, in ``trials`` unchanged series that
    grow to 100 positions.
    """
    columns = [(step, positions) for step in STEPS for positions in POSITIONS]
    names = " | ".join(f"{step:.0%} at {positions}" for step, positions in columns)
    yield f"| noise | {names} | alarms per 1000 nights |"
    yield "| --- |" + " --- |" * (len(columns) + 1)
    for name in kinds:
        rates = [
            f"{found(NOISES[name], positions, step, trials, seed).value:.3f}"
            for step, positions in columns
        ]
        places = nightly.reported("default", 0.5)
        alarms = nightly.alarms(places, NOISES[name], ALARM_POSITIONS, trials, seed, REPLICATES)
        yield f"| {name} | {' | '.join(rates)} | {alarms} |"
