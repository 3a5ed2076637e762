"""Read results of ClickBench: the JSON of ``SYSTEM/results/DATE/MACHINE.json``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pipeline.formats.base import (
    RATE,
    FormatError,
    ImportedValue,
    imported_value,
    loaded,
    moment,
    number,
)


def read(text: str, file: Path) -> Sequence[ImportedValue]:
    """Read the cold and the hot time of each query from a ClickBench file.

    The hot time is the shorter of the second and the third run. A query that failed has no value.
    The revision is the date.
    """
    tree = loaded(text)
    rows = tree.get("result") if isinstance(tree, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise FormatError("the file has no list 'result' of runs")
    date = str(tree.get("date") or "")
    value = partial(
        imported_value,
        revision=date,
        measured_at=moment(date),
        machine=str(tree.get("machine") or "").replace(" ", "-"),
    )
    found = []
    for query, row in enumerate(rows):
        times = [number(time, f"Q{query}") if time is not None else None for time in row]
        hot = [time for time in times[1:] if time is not None]
        if times and times[0] is not None:
            found.append(value(f"Q{query} cold", times[0], "s", group="cold"))
        if hot:
            found.append(value(f"Q{query} hot", min(hot), "s", group="hot"))
    for key, step, unit, metric in (
        ("load_time", "load", "s", ""),
        ("data_size", "load", "bytes", "dbsize"),
        ("concurrent_qps", "concurrent", "op/s", RATE),
    ):
        if tree.get(key) is not None:
            one = value(step, tree[key], unit)
            found.append(one._replace(metric=metric, unit="") if metric else one)
    return found
