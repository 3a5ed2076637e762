"""Sort many samples by time in a temporary file."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline.publish.samples import Labels, TimedValue, TimeSeries

_TABLE = """
CREATE TABLE sample (
  span INTEGER, name INTEGER, series INTEGER, at INTEGER, value,
  PRIMARY KEY (span, name, series, at)
) WITHOUT ROWID
"""


class Spool:
    """Sorts samples by spans of time in a file, so that memory holds only their labels.

    Of two samples of one series at one time the first is kept, as in Prometheus.
    """

    def __init__(self, path: Path, span: int) -> None:
        self._span = span
        # A temporary file of this process: it need not survive a crash.
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute(_TABLE)
        self._names: dict[str, int] = {}
        self._series: dict[Labels, int] = {}

    def close(self) -> None:
        """Close the temporary file."""
        self._database.close()

    def add(self, series: Iterable[TimeSeries]) -> None:
        """Add samples. Raises sqlite3.Error, for example if the disk is full."""
        self._database.execute("BEGIN")
        self._database.executemany(
            "INSERT OR IGNORE INTO sample VALUES (?, ?, ?, ?, ?)", self._rows(series)
        )
        self._database.execute("COMMIT")

    def _rows(self, series: Iterable[TimeSeries]) -> Iterator[tuple[int, int, int, int, float]]:
        for labels, samples in series:
            name = self._names.setdefault(dict(labels)["__name__"], len(self._names))
            place = self._series.setdefault(labels, len(self._series))
            for at, value in samples:
                yield at // self._span, name, place, at, value

    def spans(self) -> list[tuple[int, int]]:
        """Return the spans of time that have samples, in order, with the number of samples."""
        return self._database.execute(
            "SELECT span, count(*) FROM sample GROUP BY span ORDER BY span"
        ).fetchall()

    def samples(self, span: int) -> Iterator[tuple[Labels, TimedValue]]:
        """Return the samples in a span of time, by name, series and time."""
        labels = list(self._series)
        found = self._database.execute(
            "SELECT series, at, value FROM sample WHERE span = ? ORDER BY name, series, at", (span,)
        )
        for place, at, value in found:
            # SQLite stores NaN as NULL.
            yield labels[place], TimedValue(at, math.nan if value is None else value)
