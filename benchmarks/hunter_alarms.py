"""False alarms and recall of Hunter as it is in Otava, and of the corrected variant.

False alarms: one value a night, every prefix from the 20th night to the 200th searched; a point
counts when none was reported within five values of it on an earlier night. With 95 % limits as if
nights were independent, which those of one series are not. Recall: one step at a random place in
the middle three fifths of 200 values, found if a point is within five values of it. Noise 2 %.

    python -m benchmarks.hunter_alarms --series 200 --seed 1000000000
"""

from __future__ import annotations

import argparse

from scipy.stats import chi2

from changepoint.detection import hunter
from changepoint.series import Floats
from tests.changepoint.oracle.drawn import NOISES, Stream

KINDS = ("gauss", "t3", "bimodal", "autocorrelated", "drifting", "spiked", "quantised")
STEPS = (0.01, 0.02, 0.03, 0.05, 0.10)
FIRST, LENGTH, MARGIN = 20, 200, 5


def found(values: Floats, *, corrected: bool) -> list[int]:
    """The points of one search."""
    points: list[int] = hunter.points(values, corrected=corrected).indices.tolist()
    return points


def new_alarms(values: Floats, *, corrected: bool) -> int:
    """Points of all prefixes, those known from an earlier night left out."""
    known: list[int] = []
    for night in range(FIRST, len(values) + 1):
        for point in found(values[:night], corrected=corrected):
            if all(abs(point - other) > MARGIN for other in known):
                known.append(point)
    return len(known)


def alarms(kind: str, count: int, seed: int, *, corrected: bool) -> str:
    """New alarms per 1000 nights and their limits."""
    total = 0
    for i in range(count):
        values = 100.0 + 2.0 * NOISES[kind](Stream(seed + i), LENGTH)
        total += new_alarms(values, corrected=corrected)
    nights = count * (LENGTH - FIRST + 1) / 1000.0
    low = chi2.ppf(0.025, 2 * total) / 2 if total else 0.0
    high = chi2.ppf(0.975, 2 * total + 2) / 2
    return f"{total / nights:.2f} ({low / nights:.2f}-{high / nights:.2f})"


def recall(kind: str, count: int, seed: int, step: float, *, corrected: bool) -> str:
    """Share of steps found in place."""
    hits = 0
    for i in range(count):
        stream = Stream(seed + i)
        at = stream.integer(LENGTH // 5, LENGTH - LENGTH // 5)
        values = 100.0 + 2.0 * NOISES[kind](stream, LENGTH)
        values[at:] *= 1.0 + step
        hits += any(abs(point - at) <= MARGIN for point in found(values, corrected=corrected))
    return f"{hits / count:.2f}"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--series", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1_000_000_000)
    chosen = parser.parse_args()
    print("| noise | hunter | hunter-corrected |")
    print("| --- | --- | --- |")
    for kind in KINDS:
        cells = (
            alarms(kind, chosen.series, chosen.seed, corrected=corrected)
            for corrected in (False, True)
        )
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)
    print(f"\n| noise | {' | '.join(f'{step:.0%}' for step in STEPS)} |")
    print(f"| --- |{' --- |' * len(STEPS)}")
    for kind in KINDS:
        cells = (
            " / ".join(
                recall(kind, chosen.series, chosen.seed, step, corrected=corrected)
                for corrected in (False, True)
            )
            for step in STEPS
        )
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
