"""Measure how long the compared programs take for the same series."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from changepoint.evaluate.field.engines import Engine
from changepoint.series import Floats

STEP_EVERY = 250
"""Positions between two steps of the timed series, so that a search finds changes and searches the
parts between them."""
WARM = 2
"""Warm-up calls, which compile, load and fill caches."""

WARM_SECONDS = 0.05
"""Warm-up seconds of a process that was idle."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The median and the quartiles of some numbers."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, numbers: list[float]) -> Spread:
        """Return the median and the quartiles of at least two numbers."""
        return cls(*statistics.quantiles(numbers, n=4, method="inclusive"))


@dataclass(frozen=True, slots=True)
class Pairs:
    """How long two programs took for the same series, and the ratio."""

    seconds: Spread
    others: Spread
    ratio: Spread


def machine() -> str:
    """Describe this machine and how busy it is."""
    return f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"


def series(length: int, seed: int, *, steps: bool = True) -> Floats:
    """Return a simulated series with or without steps."""
    values = np.random.default_rng(seed).normal(100.0, 2.0, length)
    if steps:
        values[np.arange(length) // STEP_EVERY % 2 == 1] *= 1.05
    return values


def seconds(engine: Engine, length: int, calls: int, seed: int) -> list[float]:
    """Measure how many seconds ``calls`` calls take."""
    for i in range(WARM):
        engine(series(length, seed + i))
    return [engine(series(length, seed + i)).seconds for i in range(calls)]


def paired(mine: Engine, theirs: Engine, drawn: Sequence[Floats], seed: int) -> Pairs:
    """Measure two programs on each series in random order.

    Each engine first processes the series for ``WARM_SECONDS``, as in a loop over many series.
    """
    order = np.random.default_rng(seed)
    pairs: list[tuple[float, float]] = []
    for values in drawn:
        if order.random() < 0.5:
            own = _warm(mine, values)
            pairs.append((own, _warm(theirs, values)))
        else:
            other = _warm(theirs, values)
            pairs.append((_warm(mine, values), other))
    return Pairs(
        seconds=Spread.of([own for own, _ in pairs]),
        others=Spread.of([other for _, other in pairs]),
        ratio=Spread.of([other / own for own, other in pairs]),
    )


def _warm(engine: Engine, values: Floats) -> float:
    spent = 0.0
    while spent < WARM_SECONDS:
        spent += engine(values).seconds
    return engine(values).seconds
