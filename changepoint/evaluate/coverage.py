"""Simulate how often 95 % intervals of found changes hold the truth.

Each simulated series of single values has one step: either anywhere in the middle three fifths, or
with three to ten values after it, as a night first sees it. The reported change nearest to the step
is evaluated, within five positions of it: a step that is not found has no interval.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from changepoint.api import detect, methods
from changepoint.evaluate.measure import Rate
from changepoint.evaluate.nightly import MARGIN, SIGMA
from changepoint.evaluate.simulate import NOISES, Noise, SeriesShape, draw

KINDS = ("gauss", "t3", "bimodal", "spikes", "quantised", "AR(.5)", "drift")
STEPS = (0.04, 0.05, 0.1)
"""Steps whose intervals are counted, as a fraction of the level: smaller ones are rarely found."""
SHORTEST = 20
"""Fewest positions of a series: a shorter one rarely shows these steps."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often the intervals of found steps hold the true size and place.

    found: rate among the steps. position, effect: rates among those found whose interval contains
    the truth. places, width: median width of the interval of the position, in positions, and of the
    effect.
    """

    found: Rate
    position: Rate
    effect: Rate
    places: float
    width: float


def coverage(
    noise: Noise, length: int, step: float, late: bool, method: str, trials: int, seed: int
) -> Coverage:
    """Simulate ``trials`` series with one step, and check their intervals.

    length: positions of a series. late: whether the step is at the end, not in the middle.
    """
    bounds = (length - 10, length - 2) if late else (length // 5, length - length // 5 + 1)
    random = np.random.default_rng(seed)
    places: list[int] = []
    widths: list[float] = []
    positions = effects = 0
    for _ in range(trials):
        at = int(random.integers(*bounds))
        values = draw(noise, SeriesShape(length, 1), random, sigma=SIGMA, step=step, at=at)
        changes = [c for c in detect(values, method=method).changes if abs(c.index - at) <= MARGIN]
        if not changes:
            continue
        change = min(changes, key=lambda c: abs(c.index - at))
        first, last = (int(p) for p in change.interval)
        low, high = change.effect_interval
        positions += first <= at <= last
        effects += low <= step <= high
        places.append(last - first + 1)
        widths.append(high - low)
    found = len(places)
    return Coverage(
        found=Rate(found, trials),
        position=Rate(positions, max(found, 1)),
        effect=Rate(effects, max(found, 1)),
        places=float(np.median(places)) if found else 0.0,
        width=float(np.median(widths)) if found else 0.0,
    )


def coverage_table(length: int, method: str, trials: int, seed: int) -> Iterator[str]:
    """Yield a table: how often intervals contain the truth, by place, size and noise."""
    yield "| place | step | noise | found | position | median | effect | median |"
    yield "| --- |" + " --- |" * 7
    for late in (False, True):
        for step in STEPS:
            for name in KINDS:
                got = coverage(NOISES[name], length, step, late, method, trials, seed)
                yield (
                    f"| {'end' if late else 'middle'} | {step:.0%} | {name} | "
                    f"{got.found.value:.3f} | {got.position} | {got.places:g} | {got.effect} | "
                    f"{got.width:.2%} |"
                )


def main() -> None:
    """Print how often intervals hold the truth, as markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m changepoint.evaluate.coverage",
        description="Simulate steps and print how often the intervals contain the true value.",
        epilog="example: python -m changepoint.evaluate.coverage --trials 500 --seed 1",
    )
    parser.add_argument(
        "--positions", type=int, default=200, help="positions of each series (default 200)"
    )
    parser.add_argument("--method", default="default", help="detection method (default: default)")
    parser.add_argument(
        "--trials", type=int, default=2000, help="simulated series for each row (default 2000)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the simulation (default 1)")
    options = parser.parse_args()
    if options.trials < 1 or options.seed < 0:
        parser.error("--trials must be at least 1 and --seed at least 0")
    if options.positions < SHORTEST or options.method not in methods():
        parser.error(f"--positions must be at least {SHORTEST} and --method one of {methods()}")
    for line in coverage_table(options.positions, options.method, options.trials, options.seed):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
