"""The time of ``method="hunter"`` against that of Apache Otava 0.8.0 on the same series.

Each pair runs one series through Otava (in its own environment, tools/oracle) and through ours,
in a random order; what is compared is checked to find the same. Prints for each length the median
seconds of both, and the ratio Otava / ours as the median over the pairs with its quartiles, once
for the indices (hunter.points, what Otava's compute_change_points gives) and once for the whole
of detect, which also measures levels, intervals and noise.

    python -m benchmarks.hunter --pairs 30
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from changepoint import detect, hunter
from changepoint.series import Floats
from tests.changepoint.oracle.client import Answer, Otava, running

LENGTHS = (100, 1000, 10_000)
STEP_EVERY = 250


def series(length: int, seed: int, *, steps: bool) -> Floats:
    """Normal noise of 2 %, with or without a step of 5 % up or down every 250 values."""
    values = np.random.default_rng(seed).normal(100.0, 2.0, length)
    if steps:
        values[np.arange(length) // STEP_EVERY % 2 == 1] *= 1.05
    return values


def time_into(times: list[float], run: Callable[[], object]) -> None:
    """Append the seconds of one call."""
    start = time.perf_counter()
    run()
    times.append(time.perf_counter() - start)


def ask(otava: Otava, values: list[float], answers: list[Answer]) -> None:
    """Append Otava's answer for one series."""
    answers.append(otava.ask([values]))


def measure(otava: Otava, length: int, pairs: int, *, steps: bool) -> str:
    """One line of the table."""
    answers: list[Answer] = []
    ours: list[float] = []
    whole: list[float] = []
    for seed in range(pairs):
        values = series(length, seed, steps=steps)
        runs: list[Callable[[], None]] = [
            partial(ask, otava, values.tolist(), answers),
            partial(time_into, ours, partial(hunter.points, values)),
            partial(time_into, whole, partial(detect, values, method="hunter")),
        ]
        random.shuffle(runs)
        for run in runs:
            run()
        assert hunter.points(values).indices.tolist() == answers[-1].indices[0]
    theirs = [answer.seconds[0] for answer in answers]
    cells = [f"{length}", "steps" if steps else "none", f"{1e3 * statistics.median(theirs):.2f}"]
    for mine in (ours, whole):
        low, middle, high = statistics.quantiles(
            [a / b for a, b in zip(theirs, mine, strict=True)], n=4
        )
        cells += [
            f"{1e3 * statistics.median(mine):.2f}",
            f"{middle:.0f} ({low:.0f}-{high:.0f})",
        ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=30)
    pairs = parser.parse_args().pairs
    print("| values | changes | Otava ms | points ms | ratio | detect ms | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with running() as otava:
        for length in LENGTHS:
            for steps in (False, True):
                measure(otava, length, 2, steps=steps)  # compiles, and warms both
                print(measure(otava, length, pairs, steps=steps), flush=True)


if __name__ == "__main__":
    main()
