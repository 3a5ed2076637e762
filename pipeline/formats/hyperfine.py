"""Read results of hyperfine: the JSON of ``--export-json``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.formats.base import CPU, ImportedValue, imported_value, loaded, number, table_of


def read(text: str, file: Path) -> Sequence[ImportedValue]:
    """Read the median time and the mean CPU time of each hyperfine command."""
    found = []
    for row in table_of(loaded(text), "results"):
        name = str(row.get("command"))
        found.append(imported_value(name, row.get("median", row.get("mean")), "s"))
        if row.get("user") is not None and row.get("system") is not None:
            used = number(row["user"], name) + number(row["system"], name)
            found.append(imported_value(name, used, "s")._replace(metric=CPU))
    return found
