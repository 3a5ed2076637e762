"""Simulate whether the reported detectable size holds at every place of a short series."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from changepoint.api import budget_of_levels, detect
from changepoint.detection import default
from changepoint.detection.method import Request
from changepoint.evaluate.measure import Rate
from changepoint.evaluate.nightly import SIGMA
from changepoint.evaluate.powers import REPLICATES, is_found
from changepoint.evaluate.simulate import NOISES, Noise, SeriesShape, draw
from changepoint.series import Floats, read

LENGTHS = (4, 5, 6, 8, 10, 12, 14, 17, 20, 21, 23, 26, 30)
"""Positions of the series."""
LEAST, MOST = 0.75, 0.95
"""Lower and upper limit of the share of found steps at which the promised size counts as right."""
HALVED = SeriesShape(5, 2)
"""Shape of a ladder whose level halves."""
HALVED_SIGMA = 0.5
"""Noise of a value of that ladder, in percent of the level."""


def promised(values: Floats, shape: SeriesShape) -> dict[int, float]:
    """Return the detectable size at each place of a series where a step is detectable.

    The size in the middle is ``detectable_effect``; the others follow from the same noise.
    """
    labels = None if shape.replicates == 1 else shape.labels()
    result = detect(values, positions=labels)
    request = Request(budget_of_levels("default", 0.5), 0.0, 0)
    needs = default.find(read(values, labels), request).needs
    n = shape.positions

    def size(behind: int) -> float:
        return needs(result.noise.tails, behind) * math.sqrt(1.0 / behind + 1.0 / (n - behind))

    unit = result.detectable_effect / size(n // 2)
    sizes = {n - behind: unit * size(behind) for behind in range(1, n)}
    return {at: effect for at, effect in sizes.items() if effect < 1.0}


def by_place(noise: Noise, shape: SeriesShape, trials: int, seed: int) -> dict[int, Rate]:
    """Return for each place how often a loss of the promised size is found there."""
    random = np.random.default_rng(seed)
    hits: dict[int, list[bool]] = defaultdict(list)
    for _ in range(trials):
        sizes = promised(draw(noise, shape, random, sigma=SIGMA), shape)
        for at, effect in sizes.items():
            values = draw(noise, shape, random, sigma=SIGMA, step=-effect, at=at)
            hits[at].append(is_found(values, shape, at))
    return {at: Rate(sum(found), len(found)) for at, found in sorted(hits.items())}


def place_table(trials: int, seed: int, kinds: Sequence[str]) -> Iterator[str]:
    """Yield a table: the places where the smallest and the largest share of steps is found.

    A place is listed as outside if the confidence limits of its share are below ``LEAST`` or above
    ``MOST``.
    """
    yield "| noise | series | places | least | most | outside |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name in kinds:
        for replicates in REPLICATES:
            for length in LENGTHS:
                shape = SeriesShape(length, replicates)
                rates = by_place(NOISES[name], shape, trials, seed)
                if not rates:
                    yield f"| {name} | {shape} | none | | | |"
                    continue
                order = sorted(rates, key=lambda at: rates[at].value)
                first, last = order[0], order[-1]
                outside = [
                    f"{at}: {rate.value:.2f}"
                    for at, rate in rates.items()
                    if rate.limits()[1] < LEAST or rate.limits()[0] > MOST
                ]
                yield (
                    f"| {name} | {shape} | {min(rates)} to {max(rates)} | {rates[first].value:.2f} "
                    f"at {first} | {rates[last].value:.2f} at {last} | {', '.join(outside)} |"
                )


def halved(noise: Noise, at: int, trials: int, seed: int) -> Rate:
    """Return how often a halving is found, exactly at its place and nowhere else.

    Each series has a seed of its own.
    """
    hits = 0
    for i in range(trials):
        random = np.random.default_rng(seed + i)
        values = draw(noise, HALVED, random, sigma=HALVED_SIGMA, step=-0.5, at=at)
        changes = detect(values, positions=HALVED.labels()).changes
        hits += [int(one.position) for one in changes if one.kind == "level"] == [at]
    return Rate(hits, trials)


def halving_table(trials: int, seed: int, kinds: Sequence[str]) -> Iterator[str]:
    """Return by noise and place how often a halving in a ladder of 5 x 2 values is found."""
    places = range(2, HALVED.positions)
    yield f"| noise | {' | '.join(f'before {at}' for at in places)} |"
    yield "| --- |" + " --- |" * len(places)
    for name in kinds:
        rates = [str(halved(NOISES[name], at, trials, seed)) for at in places]
        yield f"| {name} | {' | '.join(rates)} |"
