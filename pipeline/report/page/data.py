"""What a page is made of, read from the store: one statement for each kind of fact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Engine

from pipeline.analyse.series import SLA_METRICS
from pipeline.execute.plan import Line, Plan
from pipeline.model import Step, StepStatus, Workload
from pipeline.report.page.overtime import OverTime, over_time
from pipeline.report.setups import SHOWN_METRICS, TABLE_METRICS, Setup, ordered
from pipeline.store.queries import Row, RunRow, StepOutcome, each_outcome, rows, runs

Histogram = Sequence[tuple[float, int]]
"""(upper bound in milliseconds, operations), ascending."""


@dataclass(frozen=True, slots=True)
class StepRun:
    """One step of one run: where it stands on the line, how it ended, its values by metric.

    ``note`` says why it failed, or which rates it missed where it failed its SLA; of such a step
    ``values`` has the SLA's metrics alone.
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
        """Whether there are no figures at all."""
        return self.status is StepStatus.FAILED

    @property
    def sla_failed(self) -> bool:
        """Whether the work beside what is measured was not sustained."""
        return self.status is StepStatus.SLA_FAILED


@dataclass(frozen=True, slots=True)
class StepData:
    """A step along a line, its runs ordered by position and repetition."""

    step: Step
    runs: tuple[StepRun, ...]

    def failed(self) -> tuple[StepRun, ...]:
        """Return the runs in which the step failed."""
        return tuple(run for run in self.runs if run.failed)

    def sla_failed(self) -> tuple[StepRun, ...]:
        """Return the runs in which the step failed its SLA."""
        return tuple(run for run in self.runs if run.sla_failed)

    def metrics(self) -> tuple[str, ...]:
        """Return the metrics that were measured at least once, in the shown order."""
        met = {name for run in self.runs for name in run.values}
        return tuple(name for name in SHOWN_METRICS if name in met)


@dataclass(frozen=True, slots=True)
class SetupData:
    """Everything measured on a line with one setup; steps in the published order."""

    setup: Setup
    runs: tuple[RunRow, ...]
    steps: tuple[StepData, ...]
    rows: tuple[Row, ...]

    def measured(self, labels: Sequence[str]) -> list[str]:
        """Return those of a line's revisions that have a run, in order."""
        met = {run.revision for run in self.runs}
        return [label for label in labels if label in met]


@dataclass(frozen=True, slots=True)
class LineData:
    """A line with what was measured along it, a part for each setup."""

    line: Line
    setups: tuple[SetupData, ...]

    @property
    def labels(self) -> list[str]:
        """The revisions in order; the index is the position."""
        return [revision.label for revision in self.line.revisions]


class _Ended(NamedTuple):
    """What the page needs of an outcome."""

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


def gather(store: Engine, plan: Plan) -> list[LineData]:
    """Return what the store holds of a plan's lines, in the order of the plan.

    Three statements whatever the number of runs, then work in proportion to the rows.
    """
    keys = plan.keys()
    families = {cell.key: cell.config.family for cell in plan.cells}
    known = {run.run_id: run for run in runs(store, cells=keys)}
    values: dict[tuple[str, str], dict[str, float]] = {}
    table_rows: dict[tuple[str, Setup], list[Row]] = {}
    setups: dict[str, Setup] = {}
    for row in rows(store, cells=keys, metrics=SHOWN_METRICS):
        setup = setups.get(row.run_id)
        if setup is None:
            setup = setups[row.run_id] = Setup.of(row)
        if row.status == StepStatus.SLA_FAILED and row.metric not in SLA_METRICS:
            continue
        values.setdefault((row.run_id, row.step), {})[row.metric] = row.value
        if row.metric in TABLE_METRICS:
            table_rows.setdefault((row.target, setup), []).append(row)
    ended: dict[str, list[_Ended]] = {}
    share = 1 / max(1, sum(len(run.workload["steps"]) for run in known.values()))
    # One after the other: what is told of every second would take more memory than there is.
    for outcome in each_outcome(store, cells=keys):
        ended.setdefault(outcome.run_id, []).append(_Ended.of(outcome, share))
        # A run in which every step failed has no row to tell its setup by.
        if outcome.run_id not in setups:
            setups[outcome.run_id] = _setup_of(known[outcome.run_id], outcome, families)
    by_setup: dict[tuple[str, Setup], list[RunRow]] = {}
    for run_id, setup in setups.items():
        by_setup.setdefault((known[run_id].target, setup), []).append(known[run_id])
    return [
        LineData(
            line,
            tuple(
                part
                for (target, setup), found in by_setup.items()
                if target == line.target
                for part in _part(
                    line, setup, found, table_rows.get((target, setup), ()), values, ended
                )
            ),
        )
        for line in plan.lines
    ]


def _part(
    line: Line,
    setup: Setup,
    found: Sequence[RunRow],
    measured: Iterable[Row],
    values: Mapping[tuple[str, str], Mapping[str, float]],
    ended: Mapping[str, Sequence[_Ended]],
) -> Iterable[SetupData]:
    position = {revision.label: place for place, revision in enumerate(line.revisions)}
    keys = set(line.keys())
    members = sorted(
        (run for run in found if run.cell_key in keys),
        key=lambda run: (position[run.revision], run.repetition, run.started_at),
    )
    if not members:
        return
    ids = {run.run_id for run in members}
    steps: dict[str, list[StepRun]] = {}
    for run in members:
        for outcome in ended.get(run.run_id, ()):
            steps.setdefault(outcome.step, []).append(
                StepRun(
                    position=position[run.revision],
                    revision=run.revision,
                    repetition=run.repetition,
                    run_id=run.run_id,
                    status=outcome.status,
                    note=outcome.note,
                    values=values.get((run.run_id, outcome.step), {}),
                    marks=outcome.marks,
                    over_time=outcome.over_time,
                    histogram=outcome.histogram,
                )
            )
    defined = Workload.model_validate(members[0].workload).steps
    yield SetupData(
        setup=setup,
        runs=tuple(members),
        steps=tuple(StepData(step, tuple(steps.get(step.name, ()))) for step in ordered(defined)),
        rows=tuple(row for row in measured if row.run_id in ids),
    )


def _setup_of(run: RunRow, outcome: StepOutcome, families: Mapping[str, str]) -> Setup:
    workload = Workload.model_validate(run.workload)
    return Setup(
        config=families.get(run.cell_key, run.config),
        build_options=run.build_options,
        machine_class=str(run.machine["machine_class"]),
        workload=workload.name,
        workload_hash=outcome.workload_hash,
        clients=workload.scale.clients,
    )
