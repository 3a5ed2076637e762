"""Simulate detection with the learned autocorrelation of a machine: alarms, recall and delay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from changepoint.api import detect
from changepoint.detection.autocorrelation import learned_autocorrelation
from changepoint.evaluate import nightly
from changepoint.evaluate.simulate import NOISES, Noise, SeriesShape, draw
from changepoint.series import Floats, Ints

SERIES = 20
"""Series of the machine from which its autocorrelation is learned."""
LENGTH = 60
"""Positions of each series from which the autocorrelation is learned."""
SHAPES = (SeriesShape(200, 1), SeriesShape(100, 3))
"""Lengths, in positions and replicates, to which the unchanged test series grow."""


def learned_places(noise: Noise, seed: int) -> nightly.Places:
    """Return a search by ``detect`` that uses the autocorrelation learned from 20 other series."""
    random = np.random.default_rng([seed, SERIES])
    shape = SeriesShape(LENGTH, 1)
    others = [draw(noise, shape, random, sigma=nightly.SIGMA) for _ in range(SERIES)]
    phi = learned_autocorrelation(others)

    def places(values: Floats, labels: Ints) -> list[int]:
        positions = None if len(labels) == labels[-1] + 1 else labels
        found = detect(values, positions=positions, autocorrelation=phi)
        return [int(change.position) for change in found.changes]

    return places


def learned_table(trials: int, seed: int, kinds: Sequence[str]) -> Iterator[str]:
    """Yield a table: alarms per 1000 nights of both shapes, recall of 3 and 5 %, and delay."""
    names = " | ".join(f"alarms {shape}" for shape in SHAPES)
    yield f"| noise | {names} | 3 % | 5 % | delay of 5 %, median/p90 |"
    yield "| --- |" + " --- |" * (len(SHAPES) + 3)
    for name in kinds:
        noise = NOISES[name]
        places = learned_places(noise, seed)
        row = [
            str(nightly.alarms(places, noise, shape.positions, trials, seed, shape.replicates))
            for shape in SHAPES
        ]
        row += [str(nightly.recall(places, noise, step, trials, seed)) for step in (0.03, 0.05)]
        median, late = nightly.delays(places, noise, 0.05, 1, trials, seed)
        yield f"| {name} | {' | '.join(row)} | {median:g}/{late:g} |"
