"""A cache file with the store's measurements as columns: only new runs are read from the store.

The file is a copy and may be deleted at any time.
"""

from __future__ import annotations

import io
import json
import logging
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.files.atomic_write import write_bytes_atomically
from pipeline.model import digest

_LOG = logging.getLogger(__name__)

DERIVED = "derived"
"""The folder below the results for files that can be made again from the store."""

VERSION = 2
"""Version of the file's format; a file of another version is not read."""


class StepMetric(NamedTuple):
    """A step and a metric: the key of a figure, with the step's group and unit."""

    step: str
    group: str
    unit: str
    metric: str


class MeasurementTable(NamedTuple):
    """Measurements as parallel columns with one row for each measurement.

    run: index of the measurement's run. figure: index of its step and metric. place: number of the
    step in the run. sla_failed: whether the step failed its SLA. disturbed: whether something else
    used the machine. Each column is (rows,). Five years are millions of rows, so the integers are
    small.
    """

    run: NDArray[np.int32]
    figure: NDArray[np.int32]
    place: NDArray[np.int16]
    sla_failed: NDArray[np.bool_]
    disturbed: NDArray[np.bool_]
    value: NDArray[np.float64]

    def where(self, kept: NDArray[np.bool_ | np.int64]) -> MeasurementTable:
        """Return the rows that a mask keeps, or the rows with the given indices."""
        return MeasurementTable._make(column[kept] for column in self)


Contents = Sequence[tuple[str, str | None]]
"""The runs of a cache file: id and digest of each."""


class KnownColumns(NamedTuple):
    """The content of the cache file: runs, pairs of step and metric, and the measurements."""

    runs: Contents
    figures: list[StepMetric]
    rows: MeasurementTable


class ColumnsFile:
    """The cache file with the columns of some metrics in a results folder."""

    def __init__(self, results: Path, metrics: Sequence[str]) -> None:
        self._path = results / DERIVED / f"columns-{digest(sorted(metrics))[:16]}.npz"

    def load(self) -> KnownColumns | None:
        """Return the content of the cache file; None if it is missing or cannot be used."""
        try:
            # Opened here: of a damaged archive, numpy leaves it open.
            with self._path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                head = json.loads(file["head"].tobytes())
                if head["version"] != VERSION:
                    return None
                figures = [StepMetric(*figure) for figure in head["figures"]]
                rows = MeasurementTable(*(file[name] for name in MeasurementTable._fields))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            _LOG.warning(
                "the cache %s is damaged, so the whole store is read: %s", self._path, error
            )
            return None
        return KnownColumns(head["runs"], figures, rows)

    def save(self, runs: Contents, figures: Sequence[StepMetric], rows: MeasurementTable) -> None:
        """Write the cache file. If that fails, the next night reads the whole store."""
        head = {"version": VERSION, "runs": runs, "figures": figures}
        file = io.BytesIO()
        named: dict[str, Any] = rows._asdict()
        np.savez(file, head=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8), **named)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes_atomically(self._path, file.getbuffer())
        except OSError as error:
            _LOG.info("the cache %s was not written: %s", self._path, error)
