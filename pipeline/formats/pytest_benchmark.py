"""Read results of pytest-benchmark: the JSON of ``--benchmark-json``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.formats.base import (
    FormatError,
    ImportedValue,
    imported_value,
    label_of,
    loaded,
    moment,
    table_of,
)


def read(text: str, file: Path) -> Sequence[ImportedValue]:
    """Read the median time of each pytest benchmark, with the commit that the file names."""
    tree = loaded(text)
    rows = table_of(tree, "benchmarks")
    commit = tree.get("commit_info")
    commit = commit if isinstance(commit, dict) else {}
    found = []
    for row in rows:
        name = str(row.get("fullname") or row.get("name"))
        stats = row.get("stats")
        if not isinstance(stats, dict):
            raise FormatError(f"the benchmark {name} has no stats")
        found.append(
            imported_value(
                name,
                stats.get("median"),
                "s",
                group=str(row.get("group") or ""),
                revision=label_of(str(commit.get("id") or "")),
                made=moment(commit.get("time")),
                measured_at=moment(tree.get("datetime")),
            )
        )
    return found
