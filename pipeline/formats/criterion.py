"""Read results of Criterion.rs: its JSON messages, or an ``estimates.json``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.formats.base import FormatError, ImportedValue, imported_value, loaded

_RUNS = ("new", "base")
"""The folders of a benchmark that hold the estimates of a run."""


def read(text: str, file: Path) -> Sequence[ImportedValue]:
    """Read the median time of each Criterion benchmark.

    An ``estimates.json`` holds one benchmark, which its folder names:
    ``criterion/GROUP/FUNCTION/new/estimates.json``.
    """
    if not text.strip():
        return []
    if file.name == "estimates.json":
        return [_estimate(loaded(text), file)]
    return [
        found
        for line in text.splitlines()
        if line.strip() and (found := _message(loaded(line))) is not None
    ]


def _message(message: Any) -> ImportedValue | None:
    """Return the value in a Criterion message; None for a message that completes no benchmark."""
    if not isinstance(message, dict) or message.get("reason") != "benchmark-complete":
        return None
    median = message.get("median")
    name = str(message.get("id"))
    if not isinstance(median, dict):
        raise FormatError(f"the benchmark {name} has no median")
    unit = str(median.get("unit") or message.get("unit") or "ns")
    return imported_value(name, median.get("estimate"), unit)


def _estimate(tree: Any, file: Path) -> ImportedValue:
    folders = file.absolute().parent.parts
    if folders[-1] not in _RUNS or "criterion" not in folders:
        raise FormatError(
            "the folder does not name the benchmark; give criterion/NAME/new/estimates.json"
        )
    start = len(folders) - folders[::-1].index("criterion")
    median = tree.get("median") if isinstance(tree, dict) else None
    if not isinstance(median, dict):
        raise FormatError("the file has no median")
    return imported_value("/".join(folders[start:-1]), median.get("point_estimate"), "ns")
