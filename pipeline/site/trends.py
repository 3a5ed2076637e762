"""The shown data of the store: for each line and setup, its values as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import numpy.typing as npt
from sqlalchemy import Engine

from pipeline.measure.plan import Line, Plan
from pipeline.model import Cell, Revision, Step, StepStatus
from pipeline.site.setups import SHOWN_METRICS, TABLE_METRICS, LineSetup, ordered
from pipeline.storage.derive.background import SLA_METRICS
from pipeline.storage.measurements import figures
from pipeline.storage.runs import RunHead, run_heads
from pipeline.storage.steps import StepFailure, failures

KEPT_METRICS = (*SHOWN_METRICS, "inserts_target", "deletes_target")
"""The metrics of the page, and those that a rate is compared with."""

Floats = npt.NDArray[np.float32]
"""Values, NaN if missing. Single precision (seven digits) exceeds the precision of any value."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A line with one setup.

    ``revisions`` are those with runs, in order, ``positions`` their positions on the line. ``runs``
    are ordered by position and repetition, and ``places`` has the index of each run's revision.
    ``values`` has, by step and metric, a value for each run.
    """

    line: Line
    setup: LineSetup
    steps: tuple[Step, ...]
    revisions: tuple[Revision, ...]
    positions: tuple[int, ...]
    runs: tuple[RunHead, ...]
    places: npt.NDArray[np.intp]
    failures: tuple[StepFailure, ...]
    values: dict[tuple[str, str], Floats] = field(repr=False)

    @property
    def metrics(self) -> list[str]:
        """The metrics with at least one value, in display order."""
        met = {metric for _, metric in self.values}
        return [metric for metric in KEPT_METRICS if metric in met]

    @property
    def headline(self) -> str:
        """The speed metric that comes first in tables; empty if there is none."""
        metrics = self.metrics
        return next((name for name in TABLE_METRICS if name in metrics), next(iter(metrics), ""))

    def each_run(self, metric: str) -> Floats:
        """Return the values of a metric, steps by runs."""
        nothing = np.full(len(self.runs), np.nan, dtype=np.float32)
        return np.stack([self.values.get((step.name, metric), nothing) for step in self.steps])

    def medians(self, metric: str) -> Floats:
        """Return the medians of a metric over the repetitions, steps by revisions."""
        figures_ = self.each_run(metric)
        within = np.arange(len(self.runs)) - np.searchsorted(self.places, self.places)
        shape = (len(self.steps), len(self.revisions), int(within.max()) + 1)
        spread = np.full(shape, np.nan, dtype=np.float32)
        spread[:, self.places, within] = figures_
        return median(spread)

    def dates(self) -> tuple[list[datetime], bool]:
        """Return a time for each revision, and whether these are the times of the revisions.

        If the time of any revision is unknown, the times are those of the first measurements.
        """
        made = [revision.at for revision in self.revisions if revision.at is not None]
        if len(made) == len(self.revisions):
            return made, True
        first: dict[int, datetime] = {}
        for place, run in zip(self.places.tolist(), self.runs, strict=True):
            first[place] = min(first.get(place, run.started_at), run.started_at)
        return [first[place] for place in range(len(self.revisions))], False


def median(values: Floats) -> Floats:
    """Return the medians over the last axis, ignoring NaN; NaN if there is no other value."""
    ascending = np.sort(values, axis=-1)  # sort puts NaN last.
    known = np.count_nonzero(~np.isnan(values), axis=-1)[..., None]
    low = np.take_along_axis(ascending, (known - 1) // 2, axis=-1)
    high = np.take_along_axis(ascending, np.minimum(known // 2, values.shape[-1] - 1), axis=-1)
    result: Floats = ((low + high) / 2)[..., 0].astype(np.float32, copy=False)
    return result


def each_trend(store: Engine, plan: Plan) -> Iterator[Trend]:
    """Yield the stored results of a plan's lines, one trend after the other.

    Lines are in the order of the plan; setups of a line in the order of their first measurement.
    """
    for line in plan.lines:
        setups: dict[LineSetup, list[Cell]] = {}
        for cell in line.cells:
            setups.setdefault(LineSetup.of_cell(cell), []).append(cell)
        found = [
            (heads[0].started_at, setup, cells, heads)
            for setup, cells in setups.items()
            if (heads := run_heads(store, cells=[cell.key for cell in cells]))
        ]
        for _, setup, cells, heads in sorted(found, key=lambda one: one[0]):
            yield _trend(store, line, setup, cells, heads)


def _trend(
    store: Engine, line: Line, setup: LineSetup, cells: Sequence[Cell], heads: Sequence[RunHead]
) -> Trend:
    keys = [cell.key for cell in cells]
    position = {revision.label: place for place, revision in enumerate(line.revisions)}
    runs = sorted(heads, key=lambda run: (position[run.revision], run.repetition, run.started_at))
    positions = sorted({position[run.revision] for run in runs})
    index = {run.run_id: number for number, run in enumerate(runs)}
    values: dict[tuple[str, str], Floats] = {}
    for run_id, step, _, status, metric, value in figures(store, cells=keys, metrics=KEPT_METRICS):
        if status == StepStatus.SLA_FAILED and metric not in _OF_SLA:
            continue
        column = values.get((step, metric))
        if column is None:
            column = values[step, metric] = np.full(len(runs), np.nan, dtype=np.float32)
        column[index[run_id]] = value
    return Trend(
        line=line,
        setup=setup,
        steps=tuple(ordered(cells[0].workload.steps)),
        revisions=tuple(line.revisions[place] for place in positions),
        positions=tuple(positions),
        runs=tuple(runs),
        places=np.searchsorted(positions, [position[run.revision] for run in runs]),
        failures=tuple(failures(store, cells=keys)),
        values=values,
    )


_OF_SLA = SLA_METRICS | {"inserts_target", "deletes_target"}
