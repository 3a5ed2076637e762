"""Measurements as columns of numbers, and as series along the lines of a plan.

New runs are read from the store, the others from a cache file of earlier nights. A run is taken
from the file only if the store has a run with the same id and digest; a run without a digest is
always read from the store.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, select

from pipeline.model import Mode, SeriesKey, StepStatus
from pipeline.storage.columns_file import ColumnsFile, MeasurementTable, StepMetric
from pipeline.storage.derive.background import SLA_METRICS
from pipeline.storage.runs import RunHead, run_heads
from pipeline.storage.schema import measurement, metric, run, step, step_run
from pipeline.storage.selection import listed_in
from pipeline.storage.series import Ints, Mask, RunIndex, Series

_WRITTEN_AGAIN = 0.02
"""Share of the runs that must be new or gone before the cache file is written again: reading a few
runs from the store costs less than writing the runs of five years."""

_AT_ONCE = 200_000
"""Number of rows to convert together, some ten megabytes as Python objects."""


class _Setup(NamedTuple):
    """The part of a series' key that comes from the run: target, machine, workload, clients."""

    target: str
    config: str
    build_options: str
    machine_class: str
    workload: str
    workload_hash: str
    clients: int
    mode: Mode

    @classmethod
    def of(cls, head: RunHead) -> _Setup:
        return cls._make(_SETUP_OF(head))


_SETUP_OF = attrgetter(*_Setup._fields)


class MeasurementColumns(NamedTuple):
    """All measurements in some metrics, as arrays: runs, steps and values."""

    heads: list[RunHead]
    figures: list[StepMetric]
    rows: MeasurementTable

    def series_along(
        self, line: str, revisions: Sequence[str], cells: Collection[str]
    ) -> list[Series]:
        """Return the series of one line, in the order in which the steps ran.

        ``revisions`` are the line's labels in order, ``cells`` the keys of its cells; other runs
        are skipped. The values of a series are ordered by position, then by repetition. A step that
        failed its SLA has values only for the SLA metrics, because its other figures were measured
        under another load. Disturbed repetitions count only where no undisturbed one exists: a
        machine that is always disturbed still gives values.
        """
        runs, setups, setup = _runs(revisions, self.heads, cells)
        rows, figures = self.rows, self.figures
        sla = np.array([figure.metric in SLA_METRICS for figure in figures], dtype=bool)
        mine = setup[rows.run] >= 0
        if len(figures):
            mine &= ~rows.sla_failed | sla[rows.figure]
        kept = np.flatnonzero(mine)
        row_runs = rows.run[kept]
        code = setup[row_runs] * max(len(figures), 1) + rows.figure[kept]
        # The place of each run among all, by position and repetition.
        turn = np.empty(len(self.heads), dtype=np.int64)
        turn[np.lexsort((runs.repetitions, runs.positions))] = np.arange(len(self.heads))
        # One number to sort by, and a sort that is fast where rows are in order already.
        order = np.argsort(code * len(self.heads) + turn[row_runs], kind="stable")
        kept, row_runs, code = kept[order], row_runs[order], code[order]
        edges = np.flatnonzero(np.diff(code, prepend=-1, append=-1))
        found = []
        for begin, end in pairwise(edges.tolist()):
            part = slice(begin, end)
            own, at = kept[part], row_runs[part]
            calm = _calm(runs.positions[at], rows.disturbed[own])
            number, figure = divmod(int(code[begin]), len(figures))
            key = _key(line, setups[number], figures[figure])
            oldest = int(at.min())
            place = int(rows.place[own][at == oldest].min())
            one = Series(key, runs, at[calm].astype(np.int64), rows.value[own[calm]])
            found.append(((oldest, place, key.metric), one))
        return [one for _, one in sorted(found, key=lambda pair: pair[0])]


def measurement_columns(
    engine: Engine, metrics: Sequence[str], results: Path | None = None, *, save: bool = False
) -> MeasurementColumns:
    """Return all measurements of a store in the given metrics, as columns.

    A cache file below ``results`` has the columns of earlier nights; without that folder,
    everything is read from the store. The file is written only with ``save``.
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
    if save and file is not None:
        held = 0 if known is None else len(known.runs)
        gone = held + len(fresh) - len(heads)
        if known is None or len(fresh) + gone > _WRITTEN_AGAIN * held:
            # In the order of series, so that sorting by series is fast.
            order = np.argsort(columns.rows.figure, kind="stable")
            contents = [(one.run_id, one.digest) for one in heads]
            file.save(contents, figures, columns.rows.where(order))
    return columns


def _read(
    engine: Engine,
    metrics: Sequence[str],
    places: Mapping[str, int],
    wanted: set[str],
    figures: list[StepMetric],
) -> MeasurementTable:
    """Read the measurements of some runs from the store, as columns."""
    parts = [np.empty((0, 7))]
    with engine.connect() as connection:
        # The driver's own rows: SQLAlchemy's would take several times as long.
        numbers: Any = connection.execute(select(run.c.id, run.c.run_id)).cursor
        place_of = {
            number: places[run_id] for number, run_id in numbers.fetchall() if run_id in places
        }
        numbers.close()
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
    """Convert rows of the store to columns of numbers.

    The store's own ids of runs, steps and metrics are replaced by indices into lists, because the
    ids differ after a rebuild of the store.
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


def _runs(
    revisions: Sequence[str], heads: Sequence[RunHead], cells: Collection[str]
) -> tuple[RunIndex, list[_Setup], Ints]:
    """Return all runs, the setups of one line, and each run's setup; -1 for runs of other lines."""
    position = {label: place for place, label in enumerate(revisions)}
    wanted = set(cells)
    numbers: dict[_Setup, int] = {}
    setup = np.full(len(heads), -1)
    places = np.full(len(heads), -1)
    for at, head in enumerate(heads):
        place = position.get(head.revision)
        if place is not None and head.cell_key in wanted:
            places[at] = place
            setup[at] = numbers.setdefault(_Setup.of(head), len(numbers))
    runs = RunIndex(
        tuple(head.run_id for head in heads),
        tuple(head.revision for head in heads),
        places,
        np.array([head.repetition for head in heads], dtype=np.int64),
    )
    return runs, list(numbers), setup


def _calm(positions: Ints, disturbed: Mask) -> Mask:
    """Return which values count: disturbed ones only at positions without an undisturbed one."""
    if not disturbed.any():
        return ~disturbed
    return ~(disturbed & np.isin(positions, positions[~disturbed]))


def _key(line: str, setup: _Setup, figure: StepMetric) -> SeriesKey:
    return SeriesKey(
        line=line,
        **setup._asdict(),
        **figure._asdict(),
    )
