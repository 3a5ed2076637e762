"""The time of appending a value to a ``Stream`` and asking what changed, against Apache Otava's.

Otava 0.8.0 runs in its own environment (tools/oracle) with its defaults. Each pair appends the same
value to the same series in both, in a random order. Prints for each length the median of both and
of Otava / ours over the pairs with its quartiles, and the time of our append alone.

    python -m benchmarks.append --pairs 50 --method default
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np

from changepoint import Stream, methods
from changepoint.options import Options
from changepoint.series import Floats

LENGTHS = (100, 1000, 10_000)
STEP_EVERY = 250
HERE = Path(__file__).parent


def values(length: int, seed: int) -> Floats:
    """Normal noise of 2 %, with a step of 5 % up or down every 250 values."""
    drawn = np.random.default_rng(seed).normal(100.0, 2.0, length)
    drawn[np.arange(length) // STEP_EVERY % 2 == 1] *= 1.05
    return drawn


def measure(oracle: str, length: int, pairs: int, options: Options) -> str:
    """One line of the table."""
    given = values(length + pairs, length).tolist()
    stream = Stream(**options)
    stream.extend(given[:length])
    assert stream.detection().segments
    theirs, ours, alone = [], [], []

    def append(value: float) -> None:
        start = time.perf_counter()
        stream.append(value)
        appended = time.perf_counter()
        assert stream.changes is not None
        ours.append(time.perf_counter() - start)
        alone.append(appended - start)

    with subprocess.Popen(
        [oracle, str(HERE / "append_otava.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as otava:
        assert otava.stdin is not None
        assert otava.stdout is not None
        otava.stdin.write(json.dumps(given[:length]) + "\n")
        for value in given[length:]:
            first = random.random() < 0.5
            if first:
                append(value)
            otava.stdin.write(f"{value!r}\n")
            otava.stdin.flush()
            theirs.append(json.loads(otava.stdout.readline())[0])
            if not first:
                append(value)
    low, middle, high = statistics.quantiles([a / b for a, b in zip(theirs, ours, strict=True)])
    return (
        f"| {length} | {1e3 * statistics.median(theirs):.2f} | {1e3 * statistics.median(ours):.3f} "
        f"| {middle:.1f} ({low:.1f}-{high:.1f}) | {1e6 * statistics.median(alone):.1f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--method", choices=methods(), default=None, help="default: detect's")
    given = parser.parse_args()
    options = Options() if given.method is None else Options(method=given.method)
    made = subprocess.run(
        ["bash", "tools/oracle"], cwd=HERE.parent, stdout=subprocess.PIPE, text=True, check=True
    )
    print("| values | Otava ms | append and changes ms | ratio | append alone us |")
    print("| --- | --- | --- | --- | --- |")
    for length in LENGTHS:
        print(measure(made.stdout.strip(), length, given.pairs, options), flush=True)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
