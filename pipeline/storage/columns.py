"""Measurements as columns, kept in a file, so that a night reads what is new from the store.

The file is a copy and may be deleted at any time. A run is taken from it only if the store has a
run of the same identity and digest; a run without digest is always read again.
"""

from __future__ import annotations

import io
import json
import logging
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, select

from pipeline.files.atomic_write import write_bytes_atomically
from pipeline.model import StepStatus, digest
from pipeline.storage.runs import RunHead, run_heads
from pipeline.storage.schema import measurement, metric, run, step, step_run
from pipeline.storage.selection import listed_in

_LOG = logging.getLogger(__name__)

DERIVED = "derived"
"""The folder below the results for files that can be made again from the store."""

VERSION = 1
"""Version of the file's form; a file of another version is not read."""

_AT_ONCE = 200_000
"""Rows to convert at once, some ten megabytes as Python objects."""


class StepMetric(NamedTuple):
    """A step and a metric: what a value was measured of."""

    step: str
    group: str
    unit: str
    metric: str


class MeasurementTable(NamedTuple):
    """One row for each measurement; every column is (rows,).

    run: place of its run. figure: place of its step and metric. place: of the step in the run.
    sla_failed, disturbed: whether the step failed its SLA, or something else used the machine.
    """

    run: NDArray[np.int64]
    figure: NDArray[np.int64]
    place: NDArray[np.int64]
    sla_failed: NDArray[np.bool_]
    disturbed: NDArray[np.bool_]
    value: NDArray[np.float64]

    def where(self, kept: NDArray[np.bool_]) -> MeasurementTable:
        """Return the rows that are kept, (rows,)."""
        return MeasurementTable._make(column[kept] for column in self)


class MeasurementColumns(NamedTuple):
    """Measurements in some metrics: runs, oldest first, steps with metrics, and the rows."""

    heads: list[RunHead]
    figures: list[StepMetric]
    rows: MeasurementTable


def measurement_columns(
    engine: Engine, metrics: Sequence[str], results: Path | None = None, *, save: bool = False
) -> MeasurementColumns:
    """Return all measurements of a store in the metrics.

    The file is below ``results``; without that folder, everything is read from the store. Only
    with ``save`` is it written.
    """
    heads = run_heads(engine)
    name = f"columns-{digest(sorted(metrics))[:16]}.npz"
    path = results / DERIVED / name if results is not None else None
    known = _load(path) if path is not None else None
    places = {head.run_id: place for place, head in enumerate(heads)}
    fresh = {head.run_id for head in heads}
    figures: list[StepMetric] = []
    parts: list[MeasurementTable] = []
    if known is not None:
        digests, figures, rows = known
        # Where each run of the file is now; -1 for one that is gone or has changed.
        now = np.full(len(digests), -1)
        for at, (run_id, content) in enumerate(digests):
            place = places.get(run_id)
            if place is not None and content and heads[place].digest == content:
                now[at] = place
                fresh.discard(run_id)
        moved = now[rows.run]
        kept = moved >= 0
        parts.append(rows._replace(run=moved).where(kept))
    if fresh or known is None:
        parts.append(_read(engine, metrics, places, fresh, figures))
    columns = MeasurementColumns(heads, figures, _joined(parts))
    if save and path is not None and (known is None or fresh or len(known[0]) != len(heads)):
        _save(path, columns)
    return columns


def _read(
    engine: Engine,
    metrics: Sequence[str],
    places: Mapping[str, int],
    wanted: set[str],
    figures: list[StepMetric],
) -> MeasurementTable:
    """Read the measurements of some runs. New steps and metrics are added to ``figures``."""
    parts = [_rows(np.empty((0, 7)))]
    with engine.connect() as connection:
        place_of = {
            number: places[run_id]
            for number, run_id in connection.execute(select(run.c.id, run.c.run_id))
            if run_id in places
        }
        steps = {row.id: row for row in connection.execute(select(step))}
        names = {
            number: name
            for number, name in connection.execute(select(metric.c.id, metric.c.name))
            if name in metrics
        }
        rows = (
            select(
                step_run.c.run,
                step_run.c.step,
                step_run.c.place,
                step_run.c.status == StepStatus.SLA_FAILED.value,
                step_run.c.disturbed.is_not(None),
                measurement.c.metric,
                measurement.c.value,
            )
            .join(measurement, measurement.c.step_run == step_run.c.id)
            .where(measurement.c.metric.in_(names))
        )
        if len(wanted) < len(places):
            rows = rows.join(run, run.c.id == step_run.c.run)
            rows = listed_in(rows, run.c.run_id, sorted(wanted))
        # The driver's own rows: SQLAlchemy's would take several times as long.
        cursor: Any = connection.execute(rows).cursor
        while found := cursor.fetchmany(_AT_ONCE):
            parts.append(_rows(np.array(found, dtype=np.float64)))
        cursor.close()
    return _coded(_joined(parts), place_of, steps, names, figures)


def _rows(table: NDArray[np.float64]) -> MeasurementTable:
    """Split a table of (run, step, place, SLA failed, disturbed, metric, value) into columns.

    The figure is step * 2^16 + metric, by the numbers that the store has for them.
    """
    return MeasurementTable(
        table[:, 0].astype(np.int64),
        (table[:, 1] * 2**16 + table[:, 5]).astype(np.int64),
        table[:, 2].astype(np.int64),
        table[:, 3] != 0.0,
        table[:, 4] != 0.0,
        table[:, 6].copy(),
    )


def _coded(
    rows: MeasurementTable,
    place_of: Mapping[int, int],
    steps: Mapping[int, Any],
    names: Mapping[int, str],
    figures: list[StepMetric],
) -> MeasurementTable:
    """Replace the store's numbers by places, which a rebuilt store has, too."""
    runs, run_at = np.unique(rows.run, return_inverse=True)
    places = np.array([place_of[number] for number in runs.tolist()], dtype=np.int64)
    codes, code_at = np.unique(rows.figure, return_inverse=True)
    known = {figure: at for at, figure in enumerate(figures)}
    own = []
    for code in codes.tolist():
        one = steps[code >> 16]
        figure = StepMetric(one.name, one.group, one.unit, names[code & 0xFFFF])
        if figure not in known:
            known[figure] = len(figures)
            figures.append(figure)
        own.append(known[figure])
    figure_of = np.array(own, dtype=np.int64)
    return rows._replace(run=places[run_at], figure=figure_of[code_at])


def _joined(parts: Sequence[MeasurementTable]) -> MeasurementTable:
    if len(parts) == 1:
        return parts[0]
    return MeasurementTable._make(map(np.concatenate, zip(*parts, strict=True)))


_Kept = tuple[list[tuple[str, str | None]], list[StepMetric], MeasurementTable]


def _load(path: Path) -> _Kept | None:
    """Return (run, digest), steps with metrics and rows of a file; None if it cannot be used."""
    try:
        # Opened here: of a damaged archive, numpy leaves it open.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            head = json.loads(file["head"].tobytes())
            if head["version"] != VERSION:
                return None
            figures = [StepMetric(*figure) for figure in head["figures"]]
            rows = MeasurementTable(*(file[name] for name in MeasurementTable._fields))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        _LOG.warning("%s is damaged and was not used: %s", path, error)
        return None
    return head["runs"], figures, rows


def _save(path: Path, columns: MeasurementColumns) -> None:
    """Write the file. If that fails, the next night reads everything from the store."""
    head = {
        "version": VERSION,
        "runs": [[one.run_id, one.digest] for one in columns.heads],
        "figures": columns.figures,
    }
    file = io.BytesIO()
    named: dict[str, Any] = columns.rows._asdict()
    np.savez(file, head=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8), **named)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes_atomically(path, file.getbuffer())
    except OSError as error:
        _LOG.info("%s was not written: %s", path, error)
