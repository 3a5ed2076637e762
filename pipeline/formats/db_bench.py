"""Read results of db_bench (RocksDB, LevelDB): the text that it prints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pipeline.formats.base import RATE, TIME, ImportedValue, number

_VERSION = re.compile(r"^(?:RocksDB|LevelDB):\s+version (\S+)", re.M)
_RESULT = re.compile(r"^(\w+)\s+:\s+([\d.]+) micros/op(?:\s+(\d+) ops/sec)?", re.M)
_PERCENTILES = re.compile(r"^Percentiles: P50: ([\d.]+) P75: [\d.]+ P99: ([\d.]+)", re.M)
_MS = 1e-3


def read(text: str, file: Path) -> Sequence[ImportedValue]:
    """Read throughput and, with ``--histogram``, latencies of each db_bench benchmark.

    LevelDB prints the time of an operation instead of a throughput. The revision is the version
    that db_bench prints.
    """
    version = _VERSION.search(text)
    revision = version[1] if version is not None else ""
    results = list(_RESULT.finditer(text))
    ends = [*(result.start() for result in results), len(text)][1:]
    found = []
    for result, end in zip(results, ends, strict=True):
        name, micros, rate = result.groups()
        if rate is not None:
            found.append(ImportedValue(name, RATE, number(rate, name), revision=revision))
        else:
            found.append(ImportedValue(name, TIME, number(micros, name), revision=revision))
        if (shares := _PERCENTILES.search(text, result.end(), end)) is not None:
            for metric, micros in zip(("latency_p50", "latency_p99"), shares.groups(), strict=True):
                value = number(micros, name) * _MS
                found.append(ImportedValue(name, metric, value, revision=revision))
    return found
