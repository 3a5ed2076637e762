"""Run detection programs of other projects, in their own Python environments.

Imports nothing of ours, because our packages are not installed there. Each line on standard input
is one request, each line on standard output its response, both JSON:

    {"packages": [name, ...]}                -> {"versions": {name: version, ...}}
    {"engine": name, "options": {...}, "series": [[number or null, ...], ...]}
        -> {"indices": [[...], ...], "pvalues": [[number or null, ...], ...], "seconds": [...]}

Indices are those of first values after changes, ascending. seconds: of the engine's call alone, one
for each series ("otava-append": one for each appended value). pvalues: Otava's only, with null for
nan.
"""

from __future__ import annotations

import json
import math
import platform
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

Values = list[float]
Found = tuple[list[int], list[float], list[float]]
"""Indices, their p-values if the engine returns them, and the seconds of each call."""


def otava(values: Values, **options: Any) -> Found:
    """Search a series with Apache Otava."""
    analysis = import_module("otava.analysis")
    # As otava.series prepares the values of a metric.
    analysis.fill_missing(values)
    start = time.perf_counter()
    points = [] if None in values else analysis.compute_change_points(values, **options)[0]
    seconds = time.perf_counter() - start
    indices = [int(point.index) for point in points]
    return indices, [float(point.stats.pvalue) for point in points], [seconds]


def otava_append(values: Values, *, appended: int) -> Found:
    """Search a growing series with Apache Otava, one new value at a time."""
    otava_series = import_module("otava.series")
    known = len(values) - appended
    metrics = {"value": otava_series.Metric(1, 1.0)}
    data = {"value": values[:known]}
    nights = list(range(known))
    analysed = otava_series.Series("series", None, nights, metrics, data, {}).analyze()
    seconds = []
    for i in range(known, len(values)):
        start = time.perf_counter()
        analysed.append([i], {"value": [values[i]]}, {})
        seconds.append(time.perf_counter() - start)
    points = analysed.change_points["value"]
    return [int(point.index) for point in points], [], seconds


def mongodb(values: Values, *, pvalue: float, permutations: int) -> Found:
    """Search a series with MongoDB's signal-processing-algorithms."""
    package = import_module("signal_processing_algorithms.energy_statistics.energy_statistics")
    # It permutes with numpy's global generator, seeded so that a series always has the same result.
    np.random.seed(0)
    start = time.perf_counter()
    points = package.e_divisive(values, pvalue=pvalue, permutations=permutations)
    seconds = time.perf_counter() - start
    return sorted(int(point) for point in points), [], [seconds]


def pelt(values: Values, *, penalty: float) -> Found:
    """Search a series with PELT of the library ruptures.

    The variance is that of the noise, from the median absolute difference of neighbours, which a
    change does not inflate; if that is 0, half the mean square of those differences.
    """
    ruptures = import_module("ruptures")
    start = time.perf_counter()
    signal = np.array(values)
    steps = np.diff(signal)
    variance = float(np.median(np.abs(steps)) / 0.6745) ** 2 / 2.0 or float(np.mean(steps**2)) / 2.0
    ends: list[int] = [len(values)]
    if variance > 0.0:
        model = ruptures.Pelt(model="l2").fit(signal)
        ends = model.predict(pen=penalty * variance * math.log(len(values)))
    seconds = time.perf_counter() - start
    return [int(end) for end in ends[:-1]], [], [seconds]


def kernel(values: Values, *, penalty: float) -> Found:
    """Search a series with KernelCPD of the library ruptures."""
    ruptures = import_module("ruptures")
    start = time.perf_counter()
    model = ruptures.KernelCPD(kernel="rbf").fit(np.array(values))
    ends: list[int] = model.predict(pen=penalty * math.log(len(values)))
    seconds = time.perf_counter() - start
    return [int(end) for end in ends[:-1]], [], [seconds]


ENGINES: dict[str, Callable[..., Found]] = {
    "otava": otava,
    "otava-append": otava_append,
    "mongodb": mongodb,
    "pelt": pelt,
    "kernel": kernel,
}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to one request."""
    if "packages" in request:
        versions = {name: version(name) for name in request["packages"]}
        return {"versions": {"Python": platform.python_version(), **versions}}
    run = ENGINES[request["engine"]]
    found = [run(values, **request["options"]) for values in request["series"]]
    return {
        "indices": [indices for indices, _, _ in found],
        "pvalues": [[None if math.isnan(p) else p for p in pvalues] for _, pvalues, _ in found],
        "seconds": [second for _, _, seconds in found for second in seconds],
    }


def main() -> None:
    """Answer requests until standard input ends."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
