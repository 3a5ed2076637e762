"""Runs Apache Otava over series and prints the indices it finds; for Otava's own environment.

Standard input: {"series": [[number or null, ...], ...], "options": {...}} with the options of
otava.analysis.compute_change_points; "times": true adds how long each took. Standard output:
{"version": ..., "indices": [[...], ...], "pvalues": ..., "seconds": ...}.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.metadata import version
from typing import Any


def main() -> None:
    from otava.analysis import (  # type: ignore[import-not-found]
        compute_change_points,
        fill_missing,
    )

    warnings.simplefilter("ignore")
    asked: dict[str, Any] = json.load(sys.stdin)
    indices, pvalues, seconds = [], [], []
    for values in asked["series"]:
        # What otava.series.Series.analyze does with the values of a metric before it looks.
        fill_missing(values)
        start = time.perf_counter()
        points = [] if None in values else compute_change_points(values, **asked["options"])[0]
        seconds.append(time.perf_counter() - start)
        indices.append([int(point.index) for point in points])
        pvalues.append([float(point.stats.pvalue) for point in points])
    answer = {"version": version("apache-otava"), "indices": indices}
    if asked.get("details"):
        # JSON has no nan, and no other value is out of its range.
        answer["pvalues"] = [[None if p != p else p for p in each] for each in pvalues]
        answer["seconds"] = seconds
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
