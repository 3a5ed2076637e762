"""The time of appending a value to a ``Stream`` and asking what changed, against Apache Otava's.

Otava 0.8.0 runs in its own environment (tools/oracle) with its defaults. Each pair appends a value
to a series in both, in a random order. Ours then asks for the indices of the changes, which is what
Otava's append finds, or for the whole detection. Ours is the mean over several streams, one after
the other, as a night brings them: a process that has just been woken takes 50 to 100 us before it
runs at its speed, which is nothing to Otava and more than an append of ours (``--streams 1``).
Prints for each length and number of changes the median of both, and of Otava / ours over the pairs
with its quartiles.

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

LENGTHS = (1000, 10_000)
CHANGES = (1, 40)
ASKED = ("indices", "detection")
HERE = Path(__file__).parent


def values(length: int, changes: int, seed: int) -> Floats:
    """Normal noise of 2 %, with steps of 5 %, up and down in turn, evenly spread."""
    drawn = np.random.default_rng(seed).normal(100.0, 2.0, length)
    drawn[np.arange(length) * (changes + 1) // length % 2 == 1] *= 1.05
    return drawn


def measure(
    oracle: str, asked: str, length: int, changes: int, given: argparse.Namespace, options: Options
) -> str:
    """One line of the table."""
    total = length + given.pairs
    drawn = [values(total, changes, seed).tolist() for seed in range(given.streams)]
    streams = [Stream(**options) for _ in drawn]

    def ask(stream: Stream) -> object:
        return stream.detection() if asked == "detection" else stream.indices

    for stream, mine in zip(streams, drawn, strict=True):
        stream.extend(mine[:length])
        assert ask(stream) is not None
    theirs, ours = [], []

    def append(night: int) -> None:
        start = time.perf_counter()
        for stream, mine in zip(streams, drawn, strict=True):
            stream.append(mine[night])
            assert ask(stream) is not None
        ours.append((time.perf_counter() - start) / len(streams))

    with subprocess.Popen(
        [oracle, str(HERE / "append_otava.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as otava:
        assert otava.stdin is not None
        assert otava.stdout is not None
        otava.stdin.write(json.dumps(drawn[0][:length]) + "\n")
        for night in range(length, total):
            first = random.random() < 0.5
            if first:
                append(night)
            otava.stdin.write(f"{drawn[0][night]!r}\n")
            otava.stdin.flush()
            theirs.append(json.loads(otava.stdout.readline())[0])
            if not first:
                append(night)
    low, middle, high = statistics.quantiles([a / b for a, b in zip(theirs, ours, strict=True)])
    return (
        f"| {length} | {changes} | {asked} | {1e3 * statistics.median(theirs):.2f} "
        f"| {1e3 * statistics.median(ours):.3f} | {middle:.0f} ({low:.0f}-{high:.0f}) |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--streams", type=int, default=16, help="of ours that are appended to")
    parser.add_argument("--method", choices=methods(), default=None, help="default: detect's")
    given = parser.parse_args()
    options = Options() if given.method is None else Options(method=given.method)
    made = subprocess.run(
        ["bash", "tools/oracle"], cwd=HERE.parent, stdout=subprocess.PIPE, text=True, check=True
    )
    print("| values | changes | append and | Otava ms | ours ms | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    for length in LENGTHS:
        for changes in CHANGES:
            for asked in ASKED:
                oracle = made.stdout.strip()
                print(measure(oracle, asked, length, changes, given, options), flush=True)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
