"""The trends that the site shows: the results of each line and setup as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sqlalchemy import Engine

from pipeline.measure.plan import Line, Plan
from pipeline.model import Cell, Mode, Revision, Step
from pipeline.site.setups import SHOWN_METRICS, TABLE_METRICS, LineSetup, ordered
from pipeline.storage.columns import MeasurementColumns, measurement_columns
from pipeline.storage.derive.background import SLA_METRICS
from pipeline.storage.runs import RunHead
from pipeline.storage.steps import StepFailure, failures

KEPT_METRICS = (*SHOWN_METRICS, "inserts_target", "deletes_target")
"""The metrics that pages show, and the target rates of background work."""


Floats = npt.NDArray[np.float32]
"""Values, NaN if missing. Single precision (seven digits) exceeds the precision of any value."""


@dataclass(frozen=True, slots=True)
class Trend:
    """All results of a line with one setup, as arrays.

    ``revisions`` are those with runs, in order, ``positions`` their positions on the line. ``runs``
    are ordered by position and repetition, and ``places`` has the index of each run's revision.
    ``mode`` says whether its steps were timed or counted.
    ``values`` has, by step and metric, a value for each run.
    """

    line: Line
    setup: LineSetup
    mode: Mode
    steps: tuple[Step, ...]
    revisions: tuple[Revision, ...]
    positions: tuple[int, ...]
    runs: tuple[RunHead, ...]
    places: npt.NDArray[np.intp]
    failures: tuple[StepFailure, ...]
    values: dict[tuple[str, str], Floats] = field(repr=False)

    @property
    def metrics(self) -> list[str]:
        """The metrics of the trend that have a value, in the order of display."""
        met = {metric for _, metric in self.values}
        return [metric for metric in kept_metrics([self.line]) if metric in met]

    @property
    def headline(self) -> str:
        """The metric of speed that tables show first; empty if there is none."""
        metrics = self.metrics
        return next((name for name in TABLE_METRICS if name in metrics), next(iter(metrics), ""))

    def each_run(self, metric: str) -> Floats:
        """Return the values of a metric as an array: steps by runs."""
        nothing = np.full(len(self.runs), np.nan, dtype=np.float32)
        return np.stack([self.values.get((step.name, metric), nothing) for step in self.steps])

    def medians(self, metric: str) -> Floats:
        """Return the medians of a metric as an array: steps by revisions."""
        figures_ = self.each_run(metric)
        within = np.arange(len(self.runs)) - np.searchsorted(self.places, self.places)
        shape = (len(self.steps), len(self.revisions), int(within.max()) + 1)
        spread = np.full(shape, np.nan, dtype=np.float32)
        spread[:, self.places, within] = figures_
        return median(spread)

    def dates(self) -> tuple[list[datetime], bool]:
        """Return a time for each revision, and whether it is the time of the revision itself.

        If the time of any revision is unknown, all times are those of the first measurements.
        """
        made = [revision.at for revision in self.revisions if revision.at is not None]
        if len(made) == len(self.revisions):
            return made, True
        first: dict[int, datetime] = {}
        for place, run in zip(self.places.tolist(), self.runs, strict=True):
            first[place] = min(first.get(place, run.started_at), run.started_at)
        return [first[place] for place in range(len(self.revisions))], False


def median(values: Floats) -> Floats:
    """Return the median over the last axis of an array, without missing values."""
    ascending = np.sort(values, axis=-1)  # sort puts NaN last.
    known = np.count_nonzero(~np.isnan(values), axis=-1)[..., None]
    low = np.take_along_axis(ascending, (known - 1) // 2, axis=-1)
    high = np.take_along_axis(ascending, np.minimum(known // 2, values.shape[-1] - 1), axis=-1)
    result: Floats = ((low + high) / 2)[..., 0].astype(np.float32, copy=False)
    return result


def kept_metrics(lines: Iterable[Line]) -> tuple[str, ...]:
    """Return the metrics to read for the given lines, in the order of display."""
    imported = (metric for line in lines for metric in line.metrics)
    return tuple(dict.fromkeys((*KEPT_METRICS, *imported)))


class Trends:
    """Reads the results of lines from the store as trends.

    The values of the ``metrics`` are read from the store once. With a ``results`` folder, values
    that an earlier process has saved there are not read from the store again; with ``save``, the
    values are saved there.
    """

    def __init__(
        self,
        store: Engine,
        results: Path | None = None,
        *,
        save: bool = False,
        metrics: Sequence[str] = KEPT_METRICS,
    ) -> None:
        self.store, self._results, self._save, self._metrics = store, results, save, metrics

    @cached_property
    def _columns(self) -> MeasurementColumns:
        return measurement_columns(self.store, self._metrics, self._results, save=self._save)

    def of(self, plan: Plan) -> Iterator[Trend]:
        """Yield the results of a plan's lines, one trend after another.

        Lines are in the order of the plan; setups of a line in the order of their first
        measurement.
        """
        places: dict[tuple[str, str], list[int]] = {}
        for place, head in enumerate(self._columns.heads):
            # A bundle may name another revision than its cell has.
            places.setdefault((head.cell_key, head.revision), []).append(place)
        for line in plan.lines:
            setups: dict[LineSetup, list[Cell]] = {}
            for cell in line.cells:
                setups.setdefault(LineSetup.of_cell(cell), []).append(cell)
            found = [
                (min(own), setup, cells, own)
                for setup, cells in setups.items()
                if (own := [place for cell in cells for place in places.get(_place_of(cell), ())])
            ]
            # Runs are in the order in which they began.
            for _, setup, cells, own in sorted(found, key=lambda one: one[0]):
                yield self._trend(line, setup, cells, own)

    def _trend(
        self, line: Line, setup: LineSetup, cells: Sequence[Cell], own: Sequence[int]
    ) -> Trend:
        """Return the trend of one setup of a line; ``own`` are the indices of its runs."""
        heads = self._columns.heads
        position = {revision.label: place for place, revision in enumerate(line.revisions)}
        own = sorted(own, key=lambda at: (position[heads[at].revision], heads[at].repetition, at))
        runs = tuple(heads[at] for at in own)
        positions = sorted({position[run.revision] for run in runs})
        return Trend(
            line=line,
            setup=setup,
            mode=cells[0].workload.mode,
            steps=tuple(ordered(cells[0].workload.steps or self._steps(own))),
            revisions=tuple(line.revisions[place] for place in positions),
            positions=tuple(positions),
            runs=runs,
            places=np.searchsorted(positions, [position[run.revision] for run in runs]),
            failures=tuple(failures(self.store, cells=[cell.key for cell in cells])),
            values=self._values(own),
        )

    def _steps(self, own: Sequence[int]) -> list[Step]:
        """Return the steps of imported runs, whose workload is unknown."""
        _, figures, rows = self._columns
        met = np.unique(rows.figure[np.isin(rows.run, own)]).tolist()
        steps = (
            Step(name=f.step, group=f.group, unit=f.unit) for f in map(figures.__getitem__, met)
        )
        return list(dict.fromkeys(steps))

    def _values(self, own: Sequence[int]) -> dict[tuple[str, str], Floats]:
        """Return the values of runs as arrays, by step and metric."""
        heads, figures, rows = self._columns
        number = np.full(len(heads), -1)
        number[own] = np.arange(len(own))
        of_sla = np.array([figure.metric in _OF_SLA for figure in figures], dtype=bool)
        kept = number[rows.run] >= 0
        if len(figures):
            kept &= ~rows.sla_failed | of_sla[rows.figure]
        mine = rows.where(kept)
        order = np.argsort(mine.figure, kind="stable")
        figure_of, at = mine.figure[order], number[mine.run[order]]
        value = mine.value[order]
        edges = np.flatnonzero(np.diff(figure_of, prepend=-1, append=-1)).tolist()
        values: dict[tuple[str, str], Floats] = {}
        for begin, end in pairwise(edges):
            figure = figures[figure_of[begin]]
            nothing = np.full(len(own), np.nan, dtype=np.float32)
            column = values.setdefault((figure.step, figure.metric), nothing)
            column[at[begin:end]] = value[begin:end]
        return values


def _place_of(cell: Cell) -> tuple[str, str]:
    return cell.key, cell.revision.label


_OF_SLA = SLA_METRICS | {"inserts_target", "deletes_target"}
