"""Read results of JMH (Java benchmarks): the JSON of ``-rf json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.formats.base import FormatError, ImportedValue, imported_value, loaded

_THROUGHPUT = "thrpt"
_PLAIN = (_THROUGHPUT, "avgt")
"""Modes that the metric already identifies. The name of any other mode is added to the step's
name."""


def read(text: str, file: Path) -> Sequence[ImportedValue]:
    """Read the score of each JMH benchmark: a rate or a time."""
    rows = loaded(text)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise FormatError("the file is not a list of benchmarks")
    return [_value(row) for row in rows]


def _value(row: Mapping[str, Any]) -> ImportedValue:
    mode = str(row.get("mode"))
    name = str(row.get("benchmark"))
    if params := row.get("params"):
        name += f" {','.join(f'{key}={value}' for key, value in params.items())}"
    if mode not in _PLAIN:
        name += f" {mode}"
    score = row.get("primaryMetric")
    if not isinstance(score, dict):
        raise FormatError(f"the benchmark {name} has no primaryMetric")
    unit = str(score.get("scoreUnit"))
    return imported_value(name, score.get("score"), unit, more=mode == _THROUGHPUT)
