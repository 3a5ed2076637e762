"""Read the CSV format of Apache Otava (formerly Hunter)."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pipeline.formats.base import SCORE, FormatError, ImportedValue, label_of, moment, number

_TIMES = ("time", "timestamp", "date", "datetime")
_REVISIONS = ("commit", "revision", "version", "sha", "git_commit")
_BRANCH = "branch"
_OTAVA = re.compile(r"(\d{4})\.(\d\d)\.(\d\d) (\d{1,2}):(\d\d:\d\d) ([+-]\d{4})")
"""The format of the times in Otava's own examples: ``2024.01.31 8:05:00 +0000``."""


def read(text: str, file: Path) -> Sequence[ImportedValue]:
    """Read the numeric columns of an Otava CSV file as steps, row by row.

    The revision is the column named commit, revision or version, else the time. More is better for
    every value, as in Otava, which lists the exceptions in its configuration. Raises FormatError
    for rows of several branches.
    """
    delimiter = ";" if ";" in text.partition("\n")[0] else ","
    try:
        names, *rows = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    except (csv.Error, ValueError) as error:
        raise FormatError(f"the file is not valid CSV: {error}") from error
    names = [name.strip() for name in names]
    rows = [row for row in rows if any(row)]
    for place, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise FormatError(f"row {place} has {len(row)} cells, the first line {len(names)}")
    columns = dict(zip(names, zip(*rows, strict=True), strict=False)) if rows else {}
    time = next((name for name in names if name.lower() in _TIMES), "")
    label = next((name for name in names if name.lower() in _REVISIONS), time)
    if not label:
        raise FormatError("the file has no column named time, commit, revision or version")
    if len(branches := set(columns.get(_BRANCH, ()))) > 1:
        raise FormatError(f"the file has {len(branches)} branches; import a file for each branch")
    known = {time, label, _BRANCH}
    metrics = [name for name in names if name not in known and _is_numeric(columns.get(name, ()))]
    found = []
    for place in range(len(rows)):
        at = _moment(columns[time][place]) if time else None
        revision = label_of(columns[label][place].strip())
        if not revision:
            raise FormatError(f"row {place + 1} has no {label}")
        for name in metrics:
            if cell := columns[name][place].strip():
                value = number(cell, name)
                found.append(
                    ImportedValue(name, SCORE, value, revision=revision, made=at, measured_at=at)
                )
    return found


def _is_numeric(cells: Sequence[str]) -> bool:
    """Return whether a CSV column has numbers and no other text."""
    kept = [cell.strip() for cell in cells if cell.strip()]
    return bool(kept) and all(_is_number(cell) for cell in kept)


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _moment(cell: str) -> datetime | None:
    if re.fullmatch(r"\d{9,11}", cell):
        return datetime.fromtimestamp(int(cell), UTC)
    if (own := _OTAVA.fullmatch(cell)) is not None:
        year, month, day, hour, rest, zone = own.groups()
        cell = f"{year}-{month}-{day}T{int(hour):02d}:{rest}{zone}"
    return moment(cell)
