"""Measurements as columns: what is new from the store, the rest from a file of earlier nights.

A run is taken from the file only if the store has a run of the same identity and digest; a run
without digest is always read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, select

from pipeline.model import StepStatus
from pipeline.storage.columns_file import ColumnsFile, MeasurementTable, StepMetric
from pipeline.storage.runs import RunHead, run_heads
from pipeline.storage.schema import measurement, metric, run, step, step_run
from pipeline.storage.selection import listed_in

_AT_ONCE = 200_000
"""Rows to convert at once, some ten megabytes as Python objects."""


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
    file = ColumnsFile(results, metrics) if results is not None else None
    known = file.load() if file is not None else None
    places = {head.run_id: place for place, head in enumerate(heads)}
    fresh = set(places)
    figures: list[StepMetric] = []
    parts: list[MeasurementTable] = []
    if known is not None:
        figures = known.figures
        # Where each run of the file is now; -1 for one that is gone or has changed.
        now = np.full(len(known.runs), -1, dtype=np.int32)
        for at, (run_id, content) in enumerate(known.runs):
            place = places.get(run_id)
            if place is not None and content and heads[place].digest == content:
                now[at] = place
                fresh.discard(run_id)
        rows = known.rows._replace(run=now[known.rows.run])
        parts.append(rows if now.min(initial=0) >= 0 else rows.where(rows.run >= 0))
    if fresh or known is None:
        parts.append(_read(engine, metrics, places, fresh, figures))
    columns = MeasurementColumns(heads, figures, _joined(parts))
    if save and file is not None and (known is None or fresh or len(known.runs) != len(heads)):
        file.save([(one.run_id, one.digest) for one in heads], figures, columns.rows)
    return columns


def _read(
    engine: Engine,
    metrics: Sequence[str],
    places: Mapping[str, int],
    wanted: set[str],
    figures: list[StepMetric],
) -> MeasurementTable:
    """Read the measurements of some runs. New steps and metrics are added to ``figures``."""
    parts = [np.empty((0, 7))]
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
            parts.append(np.array(found, dtype=np.float64))
        cursor.close()
    tables = [_coded(part, place_of, steps, names, figures) for part in parts]
    return _joined(tables)


def _coded(
    table: NDArray[np.float64],
    place_of: Mapping[int, int],
    steps: Mapping[int, Any],
    names: Mapping[int, str],
    figures: list[StepMetric],
) -> MeasurementTable:
    """Turn a table of (run, step, place, SLA failed, disturbed, metric, value) into columns.

    The store's numbers are replaced by places, which a rebuilt store has, too.
    """
    runs, run_at = np.unique(table[:, 0].astype(np.int64), return_inverse=True)
    places = np.array([place_of[number] for number in runs.tolist()], dtype=np.int32)
    # A figure is step * 2^16 + metric, by the numbers of the store.
    both = (table[:, 1] * 2**16 + table[:, 5]).astype(np.int64)
    codes, code_at = np.unique(both, return_inverse=True)
    known = {figure: at for at, figure in enumerate(figures)}
    own = []
    for code in codes.tolist():
        one = steps[code >> 16]
        figure = StepMetric(one.name, one.group, one.unit, names[code & 0xFFFF])
        if figure not in known:
            known[figure] = len(figures)
            figures.append(figure)
        own.append(known[figure])
    return MeasurementTable(
        places[run_at],
        np.array(own, dtype=np.int32)[code_at],
        table[:, 2].astype(np.int16),
        table[:, 3] != 0.0,
        table[:, 4] != 0.0,
        table[:, 6].copy(),
    )


def _joined(parts: Sequence[MeasurementTable]) -> MeasurementTable:
    if len(parts) == 1:
        return parts[0]
    return MeasurementTable._make(map(np.concatenate, zip(*parts, strict=True)))
