"""The time of ``detect_many`` over a hundred thousand series, and how much of it is not detect.

Half of the series have one step. ``detect`` alone over the first of them is timed before and after,
so that what else the machine does is in both figures, and has to find the same. Processor time is
given beside the time that passed: what it would take on cores of its own.

    python -m benchmarks.many --series 100000 --method default
"""

from __future__ import annotations

import argparse
import os
import resource
import time

import numpy as np

from changepoint import Detection, detect, detect_many, methods
from changepoint.options import Options
from changepoint.series import Floats

ALONE = 1000


def collection(count: int, length: int, seed: int) -> Floats:
    """Normal noise of 2 %; every second series has a step of 5 % in its middle: (count, length)."""
    values = np.random.default_rng(seed).normal(100.0, 2.0, (count, length))
    values[::2, length // 2 :] *= 1.05
    return values


def alone(values: Floats, options: Options) -> tuple[str, list[Detection]]:
    """What detect takes for a series, and what it finds."""
    start, worked = time.perf_counter(), time.process_time()
    found = [detect(row, **options) for row in values]
    passed, working = time.perf_counter() - start, time.process_time() - worked
    return f"{1e6 * passed / len(values):.0f} ({1e6 * working / len(values):.0f}) us", found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--series", type=int, default=100_000)
    parser.add_argument("--length", type=int, default=200)
    parser.add_argument("--workers", type=int, help="by default one for each core")
    parser.add_argument("--method", choices=methods(), default=None, help="default: detect's")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    options = Options() if given.method is None else Options(method=given.method)
    values = collection(given.series, given.length, given.seed)
    detect(values[0], **options)  # compiles
    before, expected = alone(values[:ALONE], options)
    start, worked = time.perf_counter(), time.process_time()
    found = detect_many(values, workers=given.workers, **options)
    passed, working = time.perf_counter() - start, time.process_time() - worked
    after, _ = alone(values[:ALONE], options)
    assert found[:ALONE] == expected
    changed = sum(bool(detection.changes) for detection in found)
    processes = resource.getrusage(resource.RUSAGE_CHILDREN)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{given.series} series of {given.length}: {passed:.1f} s; processor time {working:.1f} s "
        f"here, {processes.ru_utime + processes.ru_stime:.1f} s in the processes"
    )
    print(f"detect alone, time (processor time) of a series: {before} before, {after} after")
    print(f"{changed} with changes; {memory:.0f} MB with all values and detections")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
