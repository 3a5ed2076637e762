"""Read results of sysbench: the report that it prints at the end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pipeline.formats.base import RATE, FormatError, ImportedValue, number

_RATES = (
    re.compile(r"^\s+queries:\s+\d+\s+\(([\d.]+) per sec\.\)", re.M),
    re.compile(r"^\s+events per second:\s+([\d.]+)", re.M),
    re.compile(r"^\s+events/s \(eps\):\s+([\d.]+)", re.M),
    re.compile(r"^Total operations: \d+ \(\s*([\d.]+) per second\)", re.M),
)
"""Patterns of a run's rate: queries for a database, events for other tests. The first match
counts."""

_TOTAL = re.compile(r"total time:\s+([\d.]+)s\n\s+total number of events:\s+(\d+)")
_LATENCY = {
    "latency_avg": re.compile(r"^\s+avg:\s+([\d.]+)", re.M),
    "latency_max": re.compile(r"^\s+max:\s+([\d.]+)", re.M),
    "latency_p50": re.compile(r"^\s+50th percentile:\s+([\d.]+)", re.M),
    "latency_p95": re.compile(r"^\s+95th percentile:\s+([\d.]+)", re.M),
    "latency_p99": re.compile(r"^\s+99th percentile:\s+([\d.]+)", re.M),
}


def read(text: str, file: Path) -> Sequence[ImportedValue]:
    """Read throughput and latencies from a sysbench report; the file's name is the step."""
    if "sysbench" not in text:
        raise FormatError("the file has no sysbench report")
    rates = (found[1] for pattern in _RATES if (found := pattern.search(text)) is not None)
    rate = next(rates, None)
    if rate is None and (total := _TOTAL.search(text)) is not None and number(total[1], "time"):
        rate = str(number(total[2], "events") / number(total[1], "time"))
    if rate is None:
        raise FormatError("the report has no throughput: the run did not finish")
    values = [ImportedValue(file.stem, RATE, number(rate, "throughput"))]
    latencies = text[text.find("Latency (ms):") :]
    for metric, pattern in _LATENCY.items():
        # Zero says that the percentile was disabled.
        if (found := pattern.search(latencies)) is not None and number(found[1], metric):
            values.append(ImportedValue(file.stem, metric, number(found[1], metric)))
    return values
