"""Runs Apache Otava over series and prints the indices it finds; for Otava's own environment.

A request is a line {"series": [[number or null, ...], ...], "options": {...}} on standard input,
with the options of otava.analysis.compute_change_points. Its answer is a line {"version": ...,
"indices": [[...], ...], "pvalues": [[number or null, ...], ...], "seconds": [...]}; null is nan.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from importlib.metadata import version
from typing import Any


def main() -> None:
    """Answer until standard input ends."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The indices, p-values and seconds of each series of a request."""
    from otava.analysis import (  # type: ignore[import-not-found]
        compute_change_points,
        fill_missing,
    )

    indices, pvalues, seconds = [], [], []
    for values in request["series"]:
        # What otava.series does with the values of a metric before it looks at them.
        fill_missing(values)
        start = time.perf_counter()
        nothing = None in values
        points = [] if nothing else compute_change_points(values, **request["options"])[0]
        seconds.append(time.perf_counter() - start)
        indices.append([int(point.index) for point in points])
        found = [float(point.stats.pvalue) for point in points]
        pvalues.append([None if math.isnan(p) else p for p in found])
    return {
        "version": version("apache-otava"),
        "indices": indices,
        "pvalues": pvalues,
        "seconds": seconds,
    }


if __name__ == "__main__":
    main()
