"""Compile all numeric code in advance: ``python -m changepoint.compile``.

Use it before tests or processes that start side by side with an empty cache: otherwise each of them
compiles the same kernels.
"""

from __future__ import annotations

import numpy as np

from changepoint.api import detect, methods
from changepoint.bisection.search import Bisection
from changepoint.detection.pooled import pooled
from changepoint.stream import Stream

POSITIONS = 48
"""Positions of a long series: more than ``default.LADDER``, so that a series with replicates is not
a ladder, and enough to distinguish two modes from one."""

LADDER = 8
"""Positions of a short series."""


def compile_kernels() -> None:
    """Run every compiled function once, so that its machine code is on disk.

    The searched series are long and short, with and without replicates, and have a change of level
    and one of spread. A kernel is compiled at its first call, and some are called only after a
    change was found.
    """
    noise = np.random.default_rng(1).normal(size=(POSITIONS, 3))
    for count in (LADDER, POSITIONS):
        rows, late = noise[:count], np.arange(count)[:, None] >= count // 2
        labels = np.repeat(np.arange(count), 3)
        for figures in (100.0 + rows + 20.0 * late, 100.0 + rows * (1.0 + 20.0 * late)):
            for method in methods():
                detect(figures[:, 0].copy(), method=method)
                detect(figures.ravel(), positions=labels, method=method)
            pooled({"a": figures[:, 0], "b": figures[:, 1]})
            pooled({"a": figures.ravel(), "b": figures[::-1].ravel()}, positions=labels)
    stream = Stream()
    stream.extend(noise[:, 0])
    stream.detection()
    bisection = Bisection(4)
    for position in (0, 3, 0, 3):
        bisection.add(position, {"value": 100.0 + position})
    bisection.next()


if __name__ == "__main__":
    compile_kernels()
