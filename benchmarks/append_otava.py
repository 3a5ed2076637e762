"""Appends values to a series of Apache Otava 0.8.0; for Otava's own environment (tools/oracle).

The first line of standard input is a list of numbers. Each line after it is one more number, which
is answered with a line [seconds, [indices of the change points]].
"""

from __future__ import annotations

import json
import sys
import time
import warnings


def main() -> None:
    """Answer until standard input ends."""
    from otava.series import (  # type: ignore[import-not-found] # noqa: PLC0415
        AnalysisOptions,
        Metric,
        Series,
    )

    warnings.simplefilter("ignore")
    values = json.loads(sys.stdin.readline())
    nights = list(range(len(values)))
    series = Series("test", "main", nights, {"qps": Metric(1, 1.0, "")}, {"qps": values}, {})
    analysed = series.analyze(AnalysisOptions())
    for night, line in enumerate(sys.stdin, start=len(values)):
        value = float(line)
        start = time.perf_counter()
        analysed.append([night], {"qps": [value]}, {})
        indices = [int(point.index) for point in analysed.change_points["qps"]]
        sys.stdout.write(json.dumps([time.perf_counter() - start, indices]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
