"""Build the series of lines from the columns of the store."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pipeline.model import Mode, SeriesKey
from pipeline.storage.columns import MeasurementColumns
from pipeline.storage.columns_file import StepMetric
from pipeline.storage.derive.background import SLA_METRICS
from pipeline.storage.runs import RunHead
from pipeline.storage.series import Ints, Mask, RunIndex, Series


class _Setup(NamedTuple):
    """The part of a series' identity that its runs have."""

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
        return cls(*(getattr(head, name) for name in cls._fields))


def series_along(
    line: str, revisions: Sequence[str], columns: MeasurementColumns, cells: Collection[str]
) -> list[Series]:
    """Return the series of a line, in the order in which their steps ran.

    ``revisions`` are the line's labels in order, ``cells`` the keys of its cells; other runs are
    skipped. The values of a series are ordered by position, then by repetition. A step that failed
    its SLA has values only for the SLA metrics, because its other figures are of another load.
    Disturbed repetitions count only where no undisturbed one exists: a machine that is always
    disturbed still gives values.
    """
    runs, setups, setup = _runs(revisions, columns.heads, cells)
    rows, figures = columns.rows, columns.figures
    sla = np.array([figure.metric in SLA_METRICS for figure in figures], dtype=bool)
    mine = setup[rows.run] >= 0
    if len(figures):
        mine &= ~rows.sla_failed | sla[rows.figure]
    kept = np.flatnonzero(mine)
    run = rows.run[kept]
    code = setup[run] * max(len(figures), 1) + rows.figure[kept]
    order = np.lexsort((runs.repetitions[run], runs.positions[run], code))
    kept, run, code = kept[order], run[order], code[order]
    edges = np.flatnonzero(np.diff(code, prepend=-1, append=-1))
    found = []
    for begin, end in _stretches(edges):
        part = slice(begin, end)
        own, at = kept[part], run[part]
        calm = _calm(runs.positions[at], rows.disturbed[own])
        number, figure = divmod(int(code[begin]), len(figures))
        key = _key(line, setups[number], figures[figure])
        oldest = int(at.min())
        place = int(rows.place[own][at == oldest].min())
        one = Series(key, runs, at[calm].astype(np.int64), rows.value[own[calm]])
        found.append(((oldest, place, key.metric), one))
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


def _stretches(edges: Ints) -> Iterator[tuple[int, int]]:
    yield from pairwise(edges.tolist())


def _runs(
    revisions: Sequence[str], heads: Sequence[RunHead], cells: Collection[str]
) -> tuple[RunIndex, list[_Setup], Ints]:
    """Return all runs, the setups of the line, and each run's setup: -1 outside of the line."""
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
    """Return which values count: not the disturbed ones where undisturbed ones exist."""
    if not disturbed.any():
        return ~disturbed
    return ~(disturbed & np.isin(positions, positions[~disturbed]))


def _key(line: str, setup: _Setup, figure: StepMetric) -> SeriesKey:
    return SeriesKey(
        line=line,
        **setup._asdict(),
        **figure._asdict(),
    )
