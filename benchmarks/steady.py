"""How often the tests of a step's throughput over time err, and what they find.

Simulated steps that report once a second. Errors: of steps of one level with a noise of 10 %, where
the smallest effects that count hold nothing back, how many in 1000 are marked as warming or not
steady, are marked as drifting, are given a periodic swing; with 95 % limits (Clopper and Pearson).
Power: the share that is marked of steps that warm, drift or swing, with a noise of 3 %.

    python -m benchmarks.steady --steps 4000 --seed 5000
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.stats import beta

from changepoint.evaluate.simulate import NOISES, SeriesShape
from pipeline.model import TimePoint
from pipeline.storage.derive.oscillation import oscillation
from pipeline.storage.derive.steady import steadiness

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Floats]
Level = Callable[[Floats, np.random.Generator], Any]

LENGTHS = (60, 300, 900)
SETTLING = 500
"""Values of an autoregression that are thrown away before it counts as settled."""


def _named(name: str) -> Noise:
    return lambda random, count: NOISES[name](random, SeriesShape(count, 1)).ravel()


def _autoregression(alike: float) -> Noise:
    def draw(random: np.random.Generator, count: int) -> Floats:
        fresh = random.normal(size=count + SETTLING) * np.sqrt(1.0 - alike**2)
        return np.asarray(lfilter([1.0], [1.0, -alike], fresh)[SETTLING:], dtype=np.float64)

    return draw


KINDS: Mapping[str, Noise] = {
    "gauss": _named("gauss"),
    "t3": _named("t3"),
    "bimodal": _named("bimodal"),
    "spikes": _named("spikes"),
    "quantised": _named("quantised"),
    "AR(.5)": _autoregression(0.5),
    "AR(.8)": _autoregression(0.8),
    "AR(.95)": _autoregression(0.95),
}


def _saw(part: Floats, random: np.random.Generator) -> Floats:
    """Six sawtooth swings a step, from -10 % to 10 %."""
    return np.asarray(0.9 + 0.2 * ((6.0 * part + random.random()) % 1.0))


def _dips(part: Floats, random: np.random.Generator) -> Floats:
    """Six dips a step, by 30 % for a fifth of the time."""
    return np.asarray(1.0 - 0.3 * ((6.0 * part + random.random()) % 1.0 < 0.2))


LEVELS: Mapping[str, Level] = {
    "-10 % for a tenth": lambda part, _: 1.0 - 0.1 * (part < 0.1),
    "-20 % for a fifth": lambda part, _: 1.0 - 0.2 * (part < 0.2),
    "-30 %, e-fold in a tenth": lambda part, _: 1.0 - 0.3 * np.exp(-part / 0.1),
    "-20 % for the last tenth": lambda part, _: 1.0 - 0.2 * (part > 0.9),
    "drift of 10 %": lambda part, _: 1.05 - 0.1 * part,
    "drift of 20 %": lambda part, _: 1.1 - 0.2 * part,
    "sawtooth": _saw,
    "dips": _dips,
}


def step(noise: Noise, level: Level, count: int, size: float, seed: int) -> list[TimePoint]:
    """The throughput of one step."""
    random = np.random.default_rng(seed)
    part = (np.arange(count) + 0.5) / count
    rates = 1000.0 * level(part, random) * (1.0 + size * noise(random, count))
    return [
        TimePoint(at=second, ops_per_second=rate)
        for second, rate in enumerate(np.maximum(rates, 0.0).tolist(), start=1)
    ]


def verdict(timeline: list[TimePoint]) -> tuple[bool, bool, bool]:
    """Whether a step is verdicts to warm, to drift, and to swing."""
    found = steadiness(timeline)
    if found is None:
        return False, False, False
    return found.warming > 0.0, found.drifts, "period_s" in oscillation(timeline)


def rate(hits: int, count: int) -> str:
    """Hits in 1000 with their limits."""
    low = beta.ppf(0.025, hits, count - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, count - hits) if hits < count else 1.0
    return f"{1000 * hits / count:.2g} ({1000 * low:.2g}-{1000 * high:.2g})"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=5000)
    chosen = parser.parse_args()
    began, seen = time.perf_counter(), 0
    print("| noise | seconds | warming | drifting | swinging |\n| --- | --- | --- | --- | --- |")
    for name, noise in KINDS.items():
        for length in LENGTHS:
            verdicts = [
                verdict(step(noise, lambda part, _: np.ones(len(part)), length, 0.1, seed))
                for seed in range(chosen.seed, chosen.seed + chosen.steps)
            ]
            seen += len(verdicts)
            cells = (rate(sum(hits), len(verdicts)) for hits in zip(*verdicts, strict=True))
            print(f"| {name} | {length} | {' | '.join(cells)} |", flush=True)
    print(f"\n{1000 * (time.perf_counter() - began) / seen:.1f} ms a step\n")
    print("| step | seconds | gauss | spikes | AR(.5) | AR(.8) |\n| --- " + "| --- " * 5 + "|")
    for name, level in LEVELS.items():
        for length in LENGTHS:
            shares = []
            for kind in ("gauss", "spikes", "AR(.5)", "AR(.8)"):
                verdicts = [
                    verdict(step(KINDS[kind], level, length, 0.03, seed))
                    for seed in range(chosen.seed, chosen.seed + chosen.steps // 10)
                ]
                counts = [sum(hits) for hits in zip(*verdicts, strict=True)]
                shares.append(" / ".join(f"{count / len(verdicts):.2f}" for count in counts))
            print(f"| {name} | {length} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
