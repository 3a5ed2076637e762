"""Read results of Google Benchmark: its JSON output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.formats.base import (
    CPU,
    ImportedValue,
    imported_value,
    loaded,
    medians,
    moment,
    table_of,
)


def read(text: str, file: Path) -> Sequence[ImportedValue]:
    """Read real and CPU time of each Google Benchmark, as medians of the repetitions.

    Rows of a complexity (BigO, RMS) and benchmarks that failed are left out. Derived rates and user
    counters are not read: the file does not say whether more or less is better.
    """
    tree = loaded(text)
    rows = [row for row in table_of(tree, "benchmarks") if not row.get("error_occurred")]
    runs = [row for row in rows if row.get("run_type", "iteration") == "iteration"]
    single = {_name(row) for row in runs}
    for wanted in ("median", "mean"):
        runs += [
            row for row in rows if row.get("aggregate_name") == wanted and _name(row) not in single
        ]
        single |= {_name(row) for row in runs}
    context = tree.get("context")
    at = moment(context.get("date")) if isinstance(context, dict) else None
    found = []
    for row in runs:
        unit = str(row.get("time_unit", "ns"))
        real = imported_value(_name(row), row.get("real_time"), unit, measured_at=at)
        cpu = imported_value(_name(row), row.get("cpu_time"), unit, measured_at=at)
        found += [real, cpu._replace(metric=CPU)]
    return medians(found)


def _name(row: dict[str, object]) -> str:
    return str(row.get("run_name") or row.get("name"))
