"""What the report of a night shows, read from the store: lines, steps and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pipeline.measure.plan import Line, Plan
from pipeline.model import Step, StepStatus
from pipeline.site.night.timelines import OverTime, over_time
from pipeline.site.setups import SHOWN_METRICS, LineSetup
from pipeline.site.trends import Trend, Trends
from pipeline.storage.runs import RunRow, runs
from pipeline.storage.steps import StepOutcome, outcomes

Histogram = Sequence[tuple[float, int]]
"""(upper bound in milliseconds, operations), ascending."""


@dataclass(frozen=True, slots=True)
class StepRun:
    """One step of one run in the report: revision, outcome and values.

    ``note`` is the reason of a failure, or the missed rates of a failed SLA; a step that failed its
    SLA has only the SLA's metrics in ``values``.
    """

    position: int
    revision: str
    repetition: int
    run_id: str
    status: StepStatus
    note: str
    values: Mapping[str, float]
    marks: tuple[str, ...]
    over_time: OverTime
    histogram: Histogram

    @property
    def failed(self) -> bool:
        """Whether the step failed and has no values."""
        return self.status is StepStatus.FAILED

    @property
    def sla_failed(self) -> bool:
        """Whether the step's background work was slower than its target."""
        return self.status is StepStatus.SLA_FAILED


@dataclass(frozen=True, slots=True)
class StepData:
    """One step along a line in the report, with all runs in order."""

    step: Step
    runs: tuple[StepRun, ...]

    def failed(self) -> tuple[StepRun, ...]:
        """Return the runs in which this step failed."""
        return tuple(run for run in self.runs if run.failed)

    def sla_failed(self) -> tuple[StepRun, ...]:
        """Return the runs in which this step missed its SLA."""
        return tuple(run for run in self.runs if run.sla_failed)

    def metrics(self) -> tuple[str, ...]:
        """Return the metrics of this step that have a value, in the order of display."""
        met = {name for run in self.runs for name in run.values}
        shown = [name for name in SHOWN_METRICS if name in met]
        return (*shown, *sorted(met.difference(shown)))


@dataclass(frozen=True, slots=True)
class SetupData:
    """All results of a line with one workload, configuration and machine class."""

    setup: LineSetup
    runs: tuple[RunRow, ...]
    steps: tuple[StepData, ...]

    def measured(self, labels: Sequence[str]) -> list[str]:
        """Return those of the given revisions (labels) that have a run, in order."""
        met = {run.revision for run in self.runs}
        return [label for label in labels if label in met]


@dataclass(frozen=True, slots=True)
class LineData:
    """All results of a line for the report."""

    line: Line
    setups: tuple[SetupData, ...]

    @property
    def labels(self) -> list[str]:
        """The labels of the line's revisions in order of position."""
        return [revision.label for revision in self.line.revisions]


class _Ended(NamedTuple):
    """The part of a step's outcome that the report shows."""

    step: str
    status: StepStatus
    note: str
    marks: tuple[str, ...]
    over_time: OverTime
    histogram: Histogram

    @classmethod
    def of(cls, outcome: StepOutcome, share: float) -> _Ended:
        return cls(
            step=outcome.step,
            status=StepStatus(outcome.status),
            note=outcome.note,
            marks=tuple(outcome.marks),
            over_time=over_time(outcome, share),
            histogram=[(bound, int(count)) for bound, count in outcome.histogram],
        )


def gather(trends: Trends, plan: Plan) -> list[LineData]:
    """Read from the store what the report of a plan shows, line by line."""
    keys = plan.keys()
    known = {run.run_id: run for run in runs(trends.store, cells=keys)}
    share = 1 / max(1, sum(len(run.workload["steps"]) for run in known.values()))
    ended: dict[str, list[_Ended]] = {}
    # One by one: the timelines of all steps together do not fit into memory.
    for outcome in outcomes(trends.store, cells=keys):
        ended.setdefault(outcome.run_id, []).append(_Ended.of(outcome, share))
    parts: dict[str, list[SetupData]] = {line.name: [] for line in plan.lines}
    for trend in trends.of(plan):
        parts[trend.line.name].append(_part(trend, known, ended))
    return [LineData(line, tuple(parts[line.name])) for line in plan.lines]


def _part(
    trend: Trend, known: Mapping[str, RunRow], ended: Mapping[str, Sequence[_Ended]]
) -> SetupData:
    values: dict[tuple[int, str], dict[str, float]] = {}
    for (step, metric), column in trend.values.items():
        if metric in SHOWN_METRICS or metric in trend.line.metrics:
            for number in np.flatnonzero(~np.isnan(column)).tolist():
                values.setdefault((number, step), {})[metric] = float(column[number])
    steps: dict[str, list[StepRun]] = {}
    for number, (place, run) in enumerate(zip(trend.places.tolist(), trend.runs, strict=True)):
        for outcome in ended.get(run.run_id, ()):
            steps.setdefault(outcome.step, []).append(
                StepRun(
                    position=trend.positions[place],
                    revision=run.revision,
                    repetition=run.repetition,
                    run_id=run.run_id,
                    status=outcome.status,
                    note=outcome.note,
                    values=values.get((number, outcome.step), {}),
                    marks=outcome.marks,
                    over_time=outcome.over_time,
                    histogram=outcome.histogram,
                )
            )
    return SetupData(
        setup=trend.setup,
        # A run that another process ingested meanwhile is in the next report.
        runs=tuple(known[run.run_id] for run in trend.runs if run.run_id in known),
        steps=tuple(StepData(step, tuple(steps.get(step.name, ()))) for step in trend.steps),
    )
