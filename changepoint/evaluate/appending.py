"""Simulate a growing line with replicates: whether changes stay found, and how late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from changepoint.api import detect
from changepoint.detection.edivisive import MIN_PERMUTATIONS
from changepoint.evaluate import nightly
from changepoint.evaluate.measure import Rate
from changepoint.evaluate.newest import REPLICATES
from changepoint.evaluate.simulate import NOISES, Noise, SeriesShape, draw
from changepoint.series import Floats, Ints

LENGTHS = (19, 20, 30, 60)
"""Lengths of a series, in positions, when a change is first found; ``APPENDED`` more positions
follow."""
APPENDED = 3
"""Positions that are appended, one after the other."""
STEP = -0.04
"""The step that is found first: twice the noise of a run."""
CLEAR = 0.1
"""Largest p-value of a clear change, as a share of the limit, but at least 1 /
(``MIN_PERMUTATIONS`` + 1), because permutations give none smaller."""
SIZES = (0.06, 0.1, 0.2, 0.5, 0.9)
"""Sizes of losses, as a fraction of the level, for which the delay until they are found is
compared."""


def lost(noise: Noise, positions: int, trials: int, seed: int) -> Rate:
    """Return how often a clear change is lost while ``APPENDED`` positions are added to a series.

    positions: length of the series in which the change is found first.
    """
    random = np.random.default_rng(seed)
    shape = SeriesShape(positions + APPENDED, REPLICATES)
    labels = shape.labels()
    missing = clear = 0
    for _ in range(trials):
        at = int(random.integers(positions // 4, 3 * positions // 4 + 1))
        values = draw(noise, shape, random, sigma=nightly.SIGMA, step=STEP, at=at)
        first = detect(values[: positions * REPLICATES], positions=labels[: positions * REPLICATES])
        most = max(CLEAR * first.alarm_probability, 1.0 / (MIN_PERMUTATIONS + 1))
        places = [
            int(one.position) for one in first.changes if one.kind == "level" and one.pvalue <= most
        ]
        clear += len(places)
        for place in places:
            missing += any(
                not _has(values[:count], labels[:count], place)
                for count in range((positions + 1) * REPLICATES, len(values) + 1, REPLICATES)
            )
    return Rate(missing, max(clear, 1))


def _has(values: Floats, labels: Ints, place: int) -> bool:
    changes = detect(values, positions=labels).changes
    return any(
        one.kind == "level" and abs(int(one.position) - place) <= nightly.MARGIN for one in changes
    )


def appending_table(trials: int, seed: int, kinds: Sequence[str]) -> Iterator[str]:
    """Yield a table: by noise, the clear changes lost by appending, and the delay of each size."""
    names = [f"lost after {positions}" for positions in LENGTHS]
    names += [f"delay of -{size:.0%}, median/p90" for size in SIZES]
    yield f"| noise | {' | '.join(names)} |"
    yield "| --- |" + " --- |" * len(names)
    places = nightly.reported("default", 0.5)
    for name in kinds:
        noise = NOISES[name]
        row = [str(lost(noise, positions, trials, seed)) for positions in LENGTHS]
        for size in SIZES:
            median, late = nightly.delays(places, noise, -size, REPLICATES, trials, seed)
            row.append(f"{median:g}/{late:g}")
        yield f"| {name} | {' | '.join(row)} |"
