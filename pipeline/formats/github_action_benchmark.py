"""Read results of github-action-benchmark: its history ``data.js``, or the JSON file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.formats.base import (
    FormatError,
    ImportedValue,
    imported_value,
    label_of,
    loaded,
    moment,
    number,
    table_of,
)

_MORE = {"benchmarkjs", "pytest", "customBiggerIsBetter"}
"""Tools whose values are better when larger. For other tools smaller is better, except for
rates."""

_HEAD = re.compile(r"\s*window\.BENCHMARK_DATA\s*=\s*")
_SPREADS = ("_stddev", "_cv", "_BigO", "_RMS")
"""Endings of names in Google Benchmark for a spread or a complexity, which are not imported."""


def read(text: str, file: Path) -> Sequence[ImportedValue]:
    """Read every benchmark of every commit from a github-action-benchmark file, oldest first."""
    tree = loaded(_HEAD.sub("", text, count=1).rstrip().rstrip(";"))
    suites = tree.get("entries") if isinstance(tree, dict) else None
    if not isinstance(suites, dict):
        raise FormatError("the file has no object 'entries'")
    history = [(suite, entry) for suite in suites for entry in table_of(suites, suite)]
    history.sort(key=lambda pair: number(pair[1].get("date", 0), "date"))
    return [
        value for suite, entry in history for value in _entry(entry, suite, several=len(suites) > 1)
    ]


def _entry(entry: dict[str, Any], suite: str, *, several: bool) -> list[ImportedValue]:
    commit, tool = entry.get("commit"), str(entry.get("tool"))
    if not isinstance(commit, dict) or not commit.get("id"):
        raise FormatError(f"an entry of {suite} has no commit")
    found = []
    for bench in table_of(entry, "benches"):
        name = str(bench.get("name"))
        if tool == "googlecpp" and name.endswith(_SPREADS):
            continue
        unit = str(bench.get("unit") or "")
        found.append(
            imported_value(
                f"{suite}: {name}" if several else name,
                bench.get("value"),
                unit,
                more=tool in _MORE or unit.startswith("ops/"),
                group=suite,
                revision=label_of(str(commit["id"])),
                made=moment(commit.get("timestamp")),
                measured_at=_of_milliseconds(entry.get("date")),
            )
        )
    return found


def _of_milliseconds(date: object) -> datetime | None:
    try:
        return datetime.fromtimestamp(float(str(date)) / 1000.0, UTC)
    except (ValueError, OverflowError, OSError):
        return None
